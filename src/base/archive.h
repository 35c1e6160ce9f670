// Values as bytes and back. One description of a type serves both ways:
//
//   template <typename Archive>
//   void persist(Archive& io, Point& p) { io(p.x, p.y); }
//
// Numbers are kept as they lie in memory of a little-endian machine, texts and lists with their
// length before them. A reader never goes beyond the end of what it was given: after the first
// mistake everything read is empty and ok() is false.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

static_assert(std::endian::native == std::endian::little);

class ArchiveWriter {
 public:
  static constexpr bool kReads = false;

  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      persist(*this, const_cast<T&>(value));  // which a writer only reads
    }
  }
  void put(const std::string& text) {
    size(text.size());
    bytes_ += text;
  }
  template <typename T>
  void put(const std::vector<T>& list) {
    put_each(list);
  }
  template <typename T>
  void put(const std::deque<T>& list) {
    put_each(list);
  }
  template <typename T>
  void put(const std::set<T>& list) {
    put_each(list);
  }
  template <typename K, typename V>
  void put(const std::map<K, V>& list) {
    put_each(list);
  }
  template <typename A, typename B>
  void put(const std::pair<A, B>& both) {
    put(both.first);
    put(both.second);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value.has_value()) put(*value);
  }
  template <typename T>
  void put(const std::shared_ptr<T>& value) {
    put(value != nullptr);
    if (value != nullptr) put(static_cast<const std::remove_const_t<T>&>(*value));
  }
  template <typename List>
  void put_each(const List& list) {
    size(list.size());
    for (const auto& item : list) put(item);
  }
  void size(std::size_t n) { put(static_cast<std::uint64_t>(n)); }

  std::string bytes_;
};

class ArchiveReader {
 public:
  static constexpr bool kReads = true;

  explicit ArchiveReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && bytes_.empty(); }
  // For persist(): what was read cannot be.
  void fail() { ok_ = false; }

 private:
  template <typename T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      get(byte);
      ok_ = ok_ && byte <= 1;
      value = byte == 1;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      value = T{};
      ok_ = ok_ && bytes_.size() >= sizeof value;
      if (!ok_) return;
      std::memcpy(&value, bytes_.data(), sizeof value);
      bytes_.remove_prefix(sizeof value);
    } else {
      persist(*this, value);
    }
  }
  void get(std::string& text) {
    const std::size_t n = size();
    text.assign(bytes_.substr(0, n));
    bytes_.remove_prefix(n);
  }
  template <typename T>
  void get(std::vector<T>& list) {
    get_each<T>([&](T item) { list.push_back(std::move(item)); }, [&] { list.clear(); });
  }
  template <typename T>
  void get(std::deque<T>& list) {
    get_each<T>([&](T item) { list.push_back(std::move(item)); }, [&] { list.clear(); });
  }
  template <typename T>
  void get(std::set<T>& list) {
    get_each<T>([&](T item) { list.insert(std::move(item)); }, [&] { list.clear(); });
  }
  template <typename K, typename V>
  void get(std::map<K, V>& list) {
    get_each<std::pair<K, V>>([&](std::pair<K, V> item) { list.insert(std::move(item)); },
                              [&] { list.clear(); });
  }
  template <typename A, typename B>
  void get(std::pair<A, B>& both) {
    get(both.first);
    get(both.second);
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    value.reset();
    if (there && ok_) get(value.emplace());
  }
  template <typename T>
  void get(std::shared_ptr<T>& value) {
    bool there = false;
    get(there);
    value.reset();
    if (!there || !ok_) return;
    auto made = std::make_shared<std::remove_const_t<T>>();
    get(*made);
    value = std::move(made);
  }
  template <typename T, typename Add, typename Clear>
  void get_each(const Add& add, const Clear& clear) {
    clear();
    for (std::size_t left = size(); left > 0 && ok_; --left) {
      T item{};
      get(item);
      if (ok_) add(std::move(item));
    }
    if (!ok_) clear();
  }
  // Of a list or text; every item of it takes at least a byte.
  std::size_t size() {
    std::uint64_t n = 0;
    get(n);
    ok_ = ok_ && n <= bytes_.size();
    return ok_ ? static_cast<std::size_t>(n) : 0;
  }

  std::string_view bytes_;
  bool ok_ = true;
};

// An enumeration whose largest value is `last`.
template <typename Archive, typename Enum>
void persist_enum(Archive& io, Enum& value, Enum last) {
  io(value);
  if constexpr (Archive::kReads) {
    if (value > last) {
      io.fail();
      value = Enum{};
    }
  }
}

template <typename T>
std::string to_bytes(const T& value) {
  ArchiveWriter writer;
  writer(value);
  return writer.take();
}

// Nothing unless `bytes` is one whole T.
template <typename T>
std::optional<T> from_bytes(std::string_view bytes) {
  ArchiveReader reader(bytes);
  T value{};
  reader(value);
  if (!reader.at_end()) return std::nullopt;
  return value;
}

}  // namespace weft

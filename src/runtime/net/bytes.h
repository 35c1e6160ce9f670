// Little-endian numbers and counted text in byte strings; every read is checked against the end.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weft::runtime {

static_assert(std::endian::native == std::endian::little,
              "wire formats are little-endian and are copied as they lie in memory");

using ByteView = std::span<const std::byte>;

inline ByteView view_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class ByteWriter {
 public:
  template <typename Number>
  void put(Number number) {
    static_assert(std::is_arithmetic_v<Number> || std::is_enum_v<Number>);
    text_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void put_bytes(std::string_view bytes) { text_ += bytes; }
  template <std::size_t N>
  void put_bytes(const std::array<std::uint8_t, N>& bytes) {
    text_.append(reinterpret_cast<const char*>(bytes.data()), N);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// After the first read beyond the end all reads give zero and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }

  template <typename Number>
  Number get() {
    static_assert(std::is_integral_v<Number>);
    Number number{};
    const ByteView taken = take(sizeof number);
    if (ok_) std::memcpy(&number, taken.data(), sizeof number);
    return number;
  }
  std::string_view get_text(std::size_t size) {
    const ByteView taken = take(size);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  template <std::size_t N>
  void get_bytes(std::array<std::uint8_t, N>& out) {
    const ByteView taken = take(N);
    if (ok_) std::memcpy(out.data(), taken.data(), N);
  }

 private:
  ByteView take(std::size_t size) {
    ok_ = ok_ && size <= bytes_.size();
    if (!ok_) return {};
    const ByteView taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

  ByteView bytes_;
  bool ok_ = true;
};

}  // namespace weft::runtime

#include "base/delimited.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace weft {
namespace {

const char* find(const char* from, const char* end, char wanted) {
  if (from == end) return end;
  const void* const hit = std::memchr(from, wanted, static_cast<std::size_t>(end - from));
  return hit == nullptr ? end : static_cast<const char*>(hit);
}

std::string_view between(const char* from, const char* end) {
  return {from, static_cast<std::size_t>(end - from)};
}

// How many bytes the UTF-8 sequence at `text[0]` has; 0: it is not one (RFC 3629 section 4).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool beyond = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

// Bytes at the front of `text` that are plain ASCII and not NUL, eight at a time.
std::size_t plain_prefix(std::string_view text) {
  constexpr std::uint64_t kHigh = 0x8080808080808080ULL, kOnes = 0x0101010101010101ULL;
  std::size_t done = 0;
  for (; done + 8 <= text.size(); done += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + done, 8);
    if (((word | (word - kOnes)) & kHigh) != 0) break;
  }
  return done;
}

}  // namespace

DelimitedScanner::DelimitedScanner(std::string_view text, DelimitedOptions options)
    : at_(text.data()), end_(text.data() + text.size()), options_(options) {
  if (text.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
}

bool DelimitedScanner::next() {
  fields_.clear();
  unescaped_.clear();
  problem_ = {};
  while (at_ != end_) {
    const char* const newline = find(at_, end_, '\n');
    std::string_view record = between(at_, newline);
    if (record.ends_with('\r')) record.remove_suffix(1);
    record_line_ = next_line_;
    const bool skipped =
        record.empty() || (options_.comment != '\0' && record.front() == options_.comment);
    if (!skipped && options_.quotes && record.find('"') != std::string_view::npos) {
      split_quoted();
      return true;
    }
    at_ = newline == end_ ? end_ : newline + 1;
    ++next_line_;
    if (skipped) continue;
    split(record);
    return true;
  }
  return false;
}

void DelimitedScanner::split(std::string_view record) {
  const char* from = record.data();
  const char* const end = from + record.size();
  while (true) {
    const char* const stop = find(from, end, options_.delimiter);
    fields_.push_back(between(from, stop));
    if (stop == end) return;
    from = stop + 1;
  }
}

// Reads one record that holds a quote somewhere from at_ on, and moves past it.
void DelimitedScanner::split_quoted() {
  while (true) {
    if (at_ != end_ && *at_ == '"') {
      fields_.push_back(quoted_field());
    } else {
      const char* stop = at_;
      while (stop != end_ && *stop != options_.delimiter && *stop != '\n') ++stop;
      std::string_view field = between(at_, stop);
      at_ = stop;
      if ((at_ == end_ || *at_ == '\n') && field.ends_with('\r')) field.remove_suffix(1);
      fields_.push_back(field);
    }
    if (at_ == end_) return;
    const char separator = *at_++;
    if (separator == '\n') {
      ++next_line_;
      return;
    }
  }
}

// Requires: at_ is on an opening quote. Ensures: at_ is on the delimiter or newline after the
// field, or at the end.
std::string_view DelimitedScanner::quoted_field() {
  const char* const first = ++at_;
  std::string* copy = nullptr;
  const char* from = first;
  while (true) {
    const char* const quote = find(at_, end_, '"');
    next_line_ += std::count(at_, quote, '\n');
    at_ = quote;
    if (quote == end_) {
      problem_ = "a quote opens here and never closes";
      break;
    }
    if (quote + 1 == end_ || quote[1] != '"') break;
    if (copy == nullptr) copy = &unescaped_.emplace_back();
    copy->append(from, quote + 1);  // keeps one of the two quotes
    from = at_ = quote + 2;
  }
  std::string_view field = between(from, at_);
  if (copy != nullptr) field = copy->append(field);
  if (at_ == end_) return field;
  ++at_;
  if (at_ != end_ && *at_ == '\r') ++at_;
  if (at_ != end_ && *at_ != options_.delimiter && *at_ != '\n') {
    problem_ = "text follows a closing quote";
    while (at_ != end_ && *at_ != options_.delimiter && *at_ != '\n') ++at_;
  }
  return field;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

namespace {

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  Number number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  const std::optional<double> number = parse_whole<double>(text);
  return number.has_value() && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<BadByte> find_bad_byte(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    at += plain_prefix(text.substr(at));
    if (at == text.size()) break;
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0 || text[at] == '\0') {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
      return BadByte{line, fmt::format("byte 0x{:02x} {}", static_cast<unsigned char>(text[at]),
                                       length == 0 ? "is not UTF-8" : "does not belong in text")};
    }
    at += length;
  }
  return std::nullopt;
}

std::string shown(std::string_view value) {
  constexpr std::size_t kLongest = 40;
  if (value.empty()) return "empty";
  std::string result = "'";
  std::size_t at = 0;
  while (at < value.size() && at < kLongest) {
    const auto byte = static_cast<unsigned char>(value[at]);
    const std::size_t length = utf8_length(value.substr(at));
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += value.substr(at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return result + (at < value.size() ? "…'" : "'");
}

}  // namespace weft

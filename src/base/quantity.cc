#include "base/quantity.h"

#include <fmt/core.h>

#include <array>
#include <cctype>
#include <cmath>
#include <span>

#include "base/delimited.h"
#include "base/table.h"

namespace weft {
namespace {

struct Quantity {
  double value = 0;
  std::string_view unit;
};

// The number in front and the word after it.
std::optional<Quantity> split(std::string_view text) {
  text = trimmed(text);
  std::size_t end = 0;
  while (end < text.size()) {
    const char c = text[end];
    const bool exponent = (c == 'e' || c == 'E') && end > 0 && end + 1 < text.size() &&
                          (std::isdigit(static_cast<unsigned char>(text[end + 1])) != 0 ||
                           text[end + 1] == '-' || text[end + 1] == '+');
    const bool sign =
        (c == '-' || c == '+') && (end == 0 || text[end - 1] == 'e' || text[end - 1] == 'E');
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && !exponent && !sign) break;
    ++end;
  }
  const auto value = parse_number(text.substr(0, end));
  if (!value || *value < 0) return std::nullopt;
  return Quantity{*value, trimmed(text.substr(end))};
}

struct Prefix {
  std::string_view text;
  double factor;
};
constexpr std::array<Prefix, 10> kPrefixes = {{{"Ki", 0x1p10},
                                               {"Mi", 0x1p20},
                                               {"Gi", 0x1p30},
                                               {"Ti", 0x1p40},
                                               {"K", 1e3},
                                               {"k", 1e3},
                                               {"M", 1e6},
                                               {"G", 1e9},
                                               {"T", 1e12},
                                               {"P", 1e15}}};

// Bytes in one `unit`: a prefix, then "B", "b" or "bit".
std::optional<double> bytes_in(std::string_view unit) {
  double factor = 1;
  for (const Prefix& prefix : kPrefixes) {
    if (!unit.starts_with(prefix.text)) continue;
    factor = prefix.factor;
    unit.remove_prefix(prefix.text.size());
    break;
  }
  if (unit == "B") return factor;
  if (unit == "b" || unit == "bit") return factor / 8;
  return std::nullopt;
}

std::optional<double> finite(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::string with_prefix(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 6> kNames = {"", "K", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < kNames.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{} {}{}", three_digits(value), kNames[prefix], unit);
}

}  // namespace

std::optional<double> parse_bytes(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  if (quantity->unit.empty()) return quantity->value;
  const auto factor = bytes_in(quantity->unit);
  return factor ? finite(quantity->value * *factor) : std::nullopt;
}

std::optional<double> parse_bytes_per_s(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  std::string_view unit = quantity->unit;
  if (unit.ends_with("/s")) {
    unit.remove_suffix(2);
  } else if (unit.ends_with("ps")) {
    unit.remove_suffix(2);
  } else {
    return std::nullopt;
  }
  const auto factor = bytes_in(unit);
  return factor ? finite(quantity->value * *factor) : std::nullopt;
}

std::optional<Seconds> parse_seconds(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  if (quantity->unit.empty()) return quantity->value;
  // Divided, not multiplied: 5us is then the double nearest to 5e-6.
  constexpr std::array<Prefix, 5> kParts = {
      {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"µs", 1e6}, {"ns", 1e9}}};
  for (const Prefix& unit : kParts) {
    if (quantity->unit == unit.text) return quantity->value / unit.factor;
  }
  if (quantity->unit == "min") return finite(quantity->value * 60);
  if (quantity->unit == "h") return finite(quantity->value * kHour);
  return std::nullopt;
}

std::string bytes_text(double bytes) { return with_prefix(bytes, "B"); }

std::string bytes_per_s_text(double bytes_per_s) { return with_prefix(bytes_per_s, "B/s"); }

std::string seconds_text(Seconds seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 999.5e-9) return three_digits(seconds * 1e9) + " ns";
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

}  // namespace weft

// Ranges of options. CLI11's own let NaN pass, and print the largest number in all its digits.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "base/delimited.h"

namespace weft {

// --help says nothing of limits from 0 to this or more.
inline constexpr double kFarOff = 1e9;

inline CLI::Validator number_from(double least, double most) {
  const std::string range = fmt::format("from {:g} to {:g}", least, most);
  const auto check = [=](const std::string& text) {
    const std::optional<double> value = parse_number(text);
    const bool fits = value && *value >= least && *value <= most;
    return fits ? std::string() : fmt::format("{} is not a number {}", shown(text), range);
  };
  return {check, least == 0 && most >= kFarOff ? "" : range};
}

inline CLI::Validator whole_number_from(std::int64_t least, std::int64_t most) {
  const std::string range = fmt::format("from {} to {}", least, most);
  const auto check = [=](const std::string& text) {
    const std::optional<std::int64_t> value = parse_integer(text);
    const bool fits = value && *value >= least && *value <= most;
    return fits ? std::string() : fmt::format("{} is not a whole number {}", shown(text), range);
  };
  return {check, least == 0 && static_cast<double>(most) >= kFarOff ? "" : range};
}

}  // namespace weft

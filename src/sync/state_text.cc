#include "sync/state_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/delimited.h"

namespace weft::sync {
namespace {

constexpr std::string_view kCheck = "check ";

// FNV-1a with 64 bits: finds damage, not malice.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

std::string seal(std::string body) {
  body += fmt::format("{}{:016x}\n", kCheck, checksum(body));
  return body;
}

StateReader::StateReader(std::string_view text, std::string_view heading) : rest_(text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first != heading) {
    refuse(fmt::format("it begins with {}; this version reads '{}'", shown(first), heading));
    return;
  }
  const std::size_t at = text.rfind(kCheck);
  if (at == std::string_view::npos || at == 0 || text[at - 1] != '\n' ||
      seal(std::string(text.substr(0, at))) != text) {
    refuse("its checksum does not fit: it was cut short or damaged");
    return;
  }
  rest_ = text.substr(0, at);
  rest_.remove_prefix(heading.size() + 1);
}

void StateReader::refuse(std::string what) {
  if (error_) return;
  error_ = Error{ErrorKind::kInvalidInput, "saved sync state: " + what,
                 "use the state of another rank or an older checkpoint"};
  rest_ = {};
}

std::string_view StateReader::line(std::string_view word) {
  if (error_) return {};
  const std::size_t end = rest_.find('\n');
  const std::string_view all = rest_.substr(0, end);
  if (end == std::string_view::npos || !all.starts_with(word) ||
      (all.size() > word.size() && all[word.size()] != ' ')) {
    refuse(fmt::format("a line {} stands where '{}' must", shown(all), word));
    return {};
  }
  rest_.remove_prefix(end + 1);
  return all.size() > word.size() ? all.substr(word.size() + 1) : std::string_view{};
}

std::vector<double> StateReader::numbers(std::string_view word, std::size_t at_most) {
  std::vector<double> values;
  std::string_view left = line(word);
  while (!left.empty()) {
    const std::size_t blank = std::min(left.find(' '), left.size());
    const auto value = parse_number(left.substr(0, blank));
    if (!value || values.size() == at_most) {
      refuse(
          fmt::format("'{}' holds {}; it must be at most {} numbers", word, shown(left), at_most));
      return {};
    }
    values.push_back(*value);
    left.remove_prefix(std::min(blank + 1, left.size()));
  }
  return values;
}

std::vector<std::uint64_t> StateReader::wholes(std::string_view word, std::size_t at_most,
                                               std::uint64_t high) {
  std::vector<std::uint64_t> values;
  for (const double value : numbers(word, at_most)) {
    if (value < 0 || value > static_cast<double>(high) || value != std::floor(value)) {
      refuse(fmt::format("'{}' holds {}; it must be a whole number up to {}", word, value, high));
      return {};
    }
    values.push_back(static_cast<std::uint64_t>(value));
  }
  return values;
}

double StateReader::number(std::string_view word) {
  const std::vector<double> values = numbers(word, 1);
  if (values.size() == 1) return values[0];
  refuse(fmt::format("'{}' must hold one number", word));
  return 0;
}

std::uint64_t StateReader::whole(std::string_view word, std::uint64_t low, std::uint64_t high) {
  const std::vector<std::uint64_t> values = wholes(word, 1, high);
  if (values.size() == 1 && values[0] >= low) return values[0];
  refuse(fmt::format("'{}' must be one whole number from {} to {}", word, low, high));
  return low;
}

std::optional<Error> StateReader::finish() {
  if (!error_ && !rest_.empty()) refuse(fmt::format("{} is one line too many", shown(rest_)));
  return error_;
}

}  // namespace weft::sync

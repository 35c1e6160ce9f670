#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "policy/composition.h"

namespace weft {
namespace {

bool parse_setting(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(out);
}

}  // namespace

const std::string* Settings::find(const std::string& name) {
  known_.push_back(name);
  const auto at = part_.settings.find(name);
  return at == part_.settings.end() ? nullptr : &at->second;
}

void Settings::complain(const std::string& name, const std::string& value,
                        const std::string& allowed) {
  complaints_.add(fmt::format("setting '{}' of part '{}' is '{}'; it must be {}", name, part_.name,
                              value, allowed));
}

double Settings::number(const std::string& name, double fallback) {
  const std::string* text = find(name);
  double value = fallback;
  if (text != nullptr && (!parse_setting(*text, value) || value < 0)) {
    complain(name, *text, "a number of at least 0");
    return fallback;
  }
  return value;
}

bool Settings::flag(const std::string& name, bool fallback) {
  const std::string* text = find(name);
  if (text == nullptr) return fallback;
  if (*text == "true" || *text == "yes") return true;
  if (*text != "false" && *text != "no") complain(name, *text, "true or false");
  return false;
}

std::string Settings::word(const std::string& name, const std::string& fallback,
                           const std::vector<std::string>& allowed) {
  const std::string* text = find(name);
  if (text == nullptr) return fallback;
  if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end()) {
    complain(name, *text, fmt::format("one of {}", fmt::join(allowed, ", ")));
    return fallback;
  }
  return *text;
}

std::vector<double> Settings::numbers(const std::string& name,
                                      const std::vector<double>& fallback) {
  const std::string* text = find(name);
  if (text == nullptr) return fallback;
  std::vector<double> values;
  for (size_t start = 0; start <= text->size();) {
    const size_t comma = std::min(text->find(',', start), text->size());
    double value = 0;
    if (!parse_setting(std::string_view(*text).substr(start, comma - start), value) || value < 0) {
      complain(name, *text, "numbers of at least 0 separated by commas");
      return fallback;
    }
    values.push_back(value);
    start = comma + 1;
  }
  return values;
}

Status Settings::done() {
  for (const auto& [name, value] : part_.settings) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string close = near_miss(name, known_);
    complaints_.add(fmt::format("part '{}' has no setting '{}'{}", part_.name, name,
                                close.empty() ? "" : fmt::format("; did you mean '{}'?", close)));
  }
  if (complaints_.empty()) return {};
  return complaints_.error("docs/policies.md lists the parts and their settings");
}

}  // namespace weft

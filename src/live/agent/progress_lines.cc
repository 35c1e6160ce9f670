#include "live/agent/progress_lines.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/delimited.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;
using Values = std::map<std::string, double>;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= ProgressLines::kMostNameBytes &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

std::optional<Values> from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  Values values;
  for (const auto& [name, value] : json.items()) {
    if (!is_name(name) || !value.is_number()) return std::nullopt;
    values[name] = value.get<double>();
  }
  return values;
}

std::optional<Values> from_words(std::string_view text) {
  Values values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || !is_name(word.substr(0, equals))) return std::nullopt;
    const std::optional<double> value = parse_number(std::string(word.substr(equals + 1)));
    if (!value) return std::nullopt;
    values[std::string(word.substr(0, equals))] = *value;
  }
  return values;
}

}  // namespace

void ProgressLines::feed(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    line(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void ProgressLines::line(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) return;
  std::optional<Values> values;
  if (text.size() <= kMostLineBytes) {
    values = text.front() == '{' ? from_json(text) : from_words(text);
  }
  const auto finite = [](const auto& value) { return std::isfinite(value.second); };
  if (!values || values->empty() || !std::all_of(values->begin(), values->end(), finite)) {
    ++malformed_;
    return;
  }
  Values merged = values_;
  for (const auto& [name, value] : *values) merged[name] = value;
  if (merged.size() > kMostValues) {
    ++malformed_;
    return;
  }
  values_ = std::move(merged);
}

std::map<std::string, double> ProgressLines::take() { return std::exchange(values_, {}); }

}  // namespace weft::live

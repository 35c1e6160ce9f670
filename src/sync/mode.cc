#include "sync/mode.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/delimited.h"
#include "sync/mode_table.h"

namespace weft::sync {
namespace {

constexpr std::size_t kLongestText = 1000;
constexpr std::size_t kLongestCodec = 64;

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = near_miss(std::string(word.substr(0, 100)), known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

const ModeRow* find_row(std::string_view name) {
  for (const ModeRow& row : mode_rows()) {
    if (row.preset.name == name) return &row;
  }
  return nullptr;
}

std::string wanted(const ModeParameter& parameter) {
  if (parameter.text != nullptr) {
    return fmt::format("1 to {} of a-z, 0-9 and -_.+:", kLongestCodec);
  }
  if (!parameter.words.empty()) return fmt::format("one of {}", fmt::join(parameter.words, ", "));
  return fmt::format("a {} from {} to {}", parameter.whole ? "whole number" : "number",
                     parameter.low, parameter.high);
}

bool set_text(std::string& place, std::string_view value) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.+:").find(c) != std::string_view::npos;
  };
  if (value.empty() || value.size() > kLongestCodec) return false;
  if (!std::all_of(value.begin(), value.end(), allowed)) return false;
  place = value == "none" ? "" : std::string(value);
  return true;
}

// Returns whether the value is allowed.
bool set_value(Mode& mode, const ModeParameter& parameter, std::string_view value) {
  if (parameter.text != nullptr) return set_text(mode.*parameter.text, value);
  if (!parameter.words.empty()) {
    const auto& words = parameter.words;
    const auto at = std::find(words.begin(), words.end(), value);
    if (at == words.end()) return false;
    parameter.set(mode, static_cast<double>(at - words.begin()));
    return true;
  }
  const auto number = parse_number(value);
  if (!number || *number < parameter.low || *number > parameter.high) return false;
  if (parameter.whole && *number != std::floor(*number)) return false;
  parameter.set(mode, *number);
  return true;
}

// Reads "name=value" or, for a yes, "name" into the mode.
void read_entry(const ModeRow& row, std::string_view entry, Mode& mode,
                std::vector<std::string_view>& seen, Complaints& complaints) {
  const std::size_t equals = entry.find('=');
  const std::string_view name = trimmed(entry.substr(0, equals));
  const auto& allowed = row.parameters;
  const auto complain = [&](std::string sentence) {
    complaints.add(fmt::format("sync mode '{}': {}", row.preset.name, sentence));
  };
  if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    return complain(fmt::format("there is no parameter {}{}", shown(name),
                                suggestion(name, {allowed.begin(), allowed.end()})));
  }
  const ModeParameter& parameter = mode_parameter(name);
  if (std::find(seen.begin(), seen.end(), parameter.name) != seen.end()) {
    return complain(fmt::format("'{}' is given twice", name));
  }
  seen.push_back(parameter.name);
  const bool flag = parameter.words.size() == 2 && parameter.words[1] == "true";
  const std::string_view value = equals == std::string_view::npos
                                     ? std::string_view(flag ? "true" : "")
                                     : trimmed(entry.substr(equals + 1));
  if (!set_value(mode, parameter, value)) {
    complain(fmt::format("'{}' is {}; it must be {}", name, shown(value), wanted(parameter)));
  }
}

// What no single range can say.
void check_together(const Mode& mode, Complaints& complaints) {
  const auto refuse = [&](std::string sentence) {
    complaints.add(fmt::format("sync mode '{}': {}", mode.name, sentence));
  };
  if (mode.overlap >= mode.period && mode.overlap > 0) {
    refuse(
        fmt::format("overlap is {}; it must be below the period, {}", mode.overlap, mode.period));
  }
  if (mode.eager && (mode.overlap > 0 || mode.mixing > 0)) {
    refuse("eager averages are under way for a whole period: it goes without overlap and mixing");
  }
  if (mode.adaptive && mode.overlap > 0) refuse("an adaptive period cannot overlap");
  if (mode.fragments > mode.period) {
    refuse(fmt::format("fragments is {}; there can be at most one for each step of the period, {}",
                       mode.fragments, mode.period));
  }
  if (mode.inner > 0 && (mode.inner > mode.period || mode.period % mode.inner != 0)) {
    refuse(fmt::format("outer is {}; it must be a multiple of inner, {}", mode.period, mode.inner));
  }
}

std::string value_text(const Mode& mode, const ModeParameter& parameter) {
  if (parameter.text != nullptr) {
    const std::string& text = mode.*parameter.text;
    return text.empty() ? "none" : text;
  }
  const double value = parameter.get(mode);
  if (parameter.words.empty()) return fmt::format("{}", value);
  return std::string(parameter.words.at(static_cast<std::size_t>(value)));
}

}  // namespace

Result<Mode> parse_mode(std::string_view text) {
  const std::string hint = "docs/sync.md lists every mode with its parameters";
  if (text.size() > kLongestText) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("sync mode {} has {} characters; the limit is {}", shown(text),
                             text.size(), kLongestText),
                 hint};
  }
  const std::size_t colon = text.find(':');
  const std::string_view name = trimmed(text.substr(0, colon));
  const ModeRow* const row = find_row(name);
  if (row == nullptr) {
    std::vector<std::string> known;
    for (const ModeRow& each : mode_rows()) known.push_back(each.preset.name);
    return Error{ErrorKind::kNotFound,
                 fmt::format("sync mode {} is not known{}", shown(name), suggestion(name, known)),
                 fmt::format("the modes are {}", fmt::join(known, ", "))};
  }
  Mode mode = row->preset;
  Complaints complaints;
  std::vector<std::string_view> seen;
  if (colon != std::string_view::npos) {
    std::string_view rest = text.substr(colon + 1);
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      read_entry(*row, rest.substr(0, comma), mode, seen, complaints);
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  }
  if (complaints.empty()) check_together(mode, complaints);
  if (!complaints.empty()) return complaints.error(hint);
  // Who is left out cannot take part in an average: shard servers make the updates.
  if (mode.backup > 0) mode.exchange = Exchange::kServers;
  return mode;
}

std::string mode_text(const Mode& mode) {
  const ModeRow* const row = find_row(mode.name);
  CHECK(row != nullptr);
  std::string text = mode.name;
  for (const std::string_view name : row->parameters) {
    const ModeParameter& parameter = mode_parameter(name);
    const std::string value = value_text(mode, parameter);
    if (value == value_text(row->preset, parameter)) continue;
    text += fmt::format("{}{}={}", text == mode.name ? ':' : ',', name, value);
  }
  return text;
}

std::vector<ModeHelp> list_modes() {
  std::vector<ModeHelp> help;
  for (const ModeRow& row : mode_rows()) {
    std::string parameters;
    for (const std::string_view name : row.parameters) {
      parameters += fmt::format("{}{}={}", parameters.empty() ? "" : ",", name,
                                value_text(row.preset, mode_parameter(name)));
    }
    help.push_back({row.preset.name, std::string(row.summary), std::move(parameters),
                    std::string(row.source)});
  }
  return help;
}

}  // namespace weft::sync

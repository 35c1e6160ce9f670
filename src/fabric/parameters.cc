#include "fabric/parameters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/delimited.h"
#include "base/quantity.h"

namespace weft {
namespace {

constexpr double kMostBandwidth = 1e18;  // bytes per second; far above any link, far below overflow
constexpr Seconds kLongestLatency = 3600;

}  // namespace

bool Parameters::has(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.name == name; });
}

const std::string* Parameters::find(std::string_view name) {
  if (!name.empty()) known_.emplace_back(name);
  const std::string* value = nullptr;
  for (Entry& entry : entries_) {
    if (entry.name != name) continue;
    if (!entry.used && value != nullptr) {
      complain(name.empty() ? fmt::format("{} is one word too many", shown(entry.value))
                            : fmt::format("'{}' is given twice", name));
    }
    entry.used = true;
    if (value == nullptr) value = &entry.value;
  }
  return value;
}

void Parameters::complain(std::string sentence) {
  complaints_.add(fmt::format("{}: {}", shown(text_), sentence));
}

void Parameters::refuse(std::string_view name, const std::string& value, std::string_view wanted) {
  complain(fmt::format("'{}' is {}; it must be {}", name, shown(value), wanted));
}

std::uint32_t Parameters::count(std::string_view name, std::uint32_t fallback, std::uint32_t low,
                                std::uint32_t high) {
  const std::string* const text = find(name);
  if (text == nullptr) return fallback;
  const auto value = parse_integer(*text);
  if (value && *value >= low && *value <= high) return static_cast<std::uint32_t>(*value);
  refuse(name, *text, fmt::format("a whole number from {} to {}", low, high));
  return std::max(low, fallback);
}

double Parameters::number(std::string_view name, double fallback, double low, double high) {
  const std::string* const text = find(name);
  if (text == nullptr) return fallback;
  const auto value = parse_number(*text);
  if (value && *value > low && *value <= high) return *value;
  refuse(name, *text, fmt::format("a number above {} and at most {}", low, high));
  return fallback;
}

double Parameters::bandwidth(std::string_view name, double fallback) {
  const std::string* const text = find(name);
  if (text == nullptr) return fallback;
  const auto value = parse_bytes_per_s(*text);
  if (value && *value > 0 && *value <= kMostBandwidth) return *value;
  refuse(name, *text, kBytesPerSecondWanted);
  return fallback;
}

Seconds Parameters::seconds(std::string_view name, Seconds fallback) {
  const std::string* const text = find(name);
  if (text == nullptr) return fallback;
  const auto value = parse_seconds(*text);
  if (value && *value <= kLongestLatency) return *value;
  refuse(name, *text, fmt::format("{}, at most {} s", kSecondsWanted, kLongestLatency));
  return fallback;
}

bool Parameters::flag(std::string_view name, bool fallback) {
  return word(name, fallback ? 0 : 1, {"true", "false"}) == 0;
}

int Parameters::word(std::string_view name, int fallback, const std::vector<std::string>& words) {
  const std::string* const text = find(name);
  if (text == nullptr) return fallback;
  const auto at = std::find(words.begin(), words.end(), *text);
  if (at != words.end()) return static_cast<int>(at - words.begin());
  refuse(name, *text, fmt::format("one of {}", fmt::join(words, ", ")));
  return fallback;
}

std::vector<std::uint32_t> Parameters::sides(std::string_view name,
                                             std::vector<std::uint32_t> fallback, std::size_t most,
                                             bool bare) {
  const std::string* text = find(name);
  if (text == nullptr && bare) text = find("");
  if (text == nullptr) return fallback;
  std::vector<std::uint32_t> sides;
  std::string_view rest = *text;
  while (true) {
    const std::size_t cross = std::min(rest.find('x'), rest.size());
    const auto side = parse_integer(rest.substr(0, cross));
    if (!side || *side < 1 || *side > kMaxEndpoints || sides.size() >= most) {
      refuse(name, *text, fmt::format("1 to {} sides of at least 1, such as 4x4", most));
      return fallback;
    }
    sides.push_back(static_cast<std::uint32_t>(*side));
    if (cross == rest.size()) return sides;
    rest.remove_prefix(cross + 1);
  }
}

LinkRate Parameters::link(double bandwidth_fallback, Seconds latency_fallback) {
  LinkRate rate;
  rate.bytes_per_s = bandwidth("bandwidth", bandwidth_fallback);
  rate.latency = seconds("latency", latency_fallback);
  return rate;
}

void Parameters::add_change(LinkChange::Kind kind, const std::string& name,
                            const std::string& value, std::vector<LinkChange>& out) {
  LinkChange change;
  change.kind = kind;
  change.text = fmt::format("{}={}", name, shown(value));
  std::string_view link = value;
  if (kind != LinkChange::Kind::kFail) {
    const std::size_t colon = link.rfind(':');
    const std::string_view number =
        colon == std::string_view::npos ? std::string_view{} : link.substr(colon + 1);
    link = link.substr(0, colon);
    const bool degrade = kind == LinkChange::Kind::kDegrade;
    const auto read = degrade ? parse_number(number) : parse_bytes_per_s(number);
    if (!read || *read <= 0 || *read > (degrade ? 1 : kMostBandwidth)) {
      refuse(name, value,
             degrade ? "LINK:FACTOR with a factor above 0 and at most 1, such as "
                       "leaf0/spine1:0.5"
                     : "LINK:BANDWIDTH, such as leaf0/spine1:50GB/s");
      return;
    }
    change.value = *read;
  }
  const std::size_t slash = std::min(link.find('/'), link.size());
  change.a = trimmed(link.substr(0, slash));
  if (slash < link.size()) change.b = trimmed(link.substr(slash + 1));
  if (change.a.empty() || (slash < link.size() && change.b.empty())) {
    refuse(name, value, "VERTEX/VERTEX or VERTEX, such as leaf0/spine1 or spine1");
    return;
  }
  out.push_back(std::move(change));
}

std::vector<LinkChange> Parameters::changes() {
  using Kind = LinkChange::Kind;
  // Speeds first, then factors on them; what failed has neither.
  const std::vector<std::pair<std::string, Kind>> kinds = {
      {"speed", Kind::kSpeed}, {"degrade", Kind::kDegrade}, {"fail", Kind::kFail}};
  std::vector<LinkChange> changes;
  for (const auto& [name, kind] : kinds) {
    known_.push_back(name);
    for (Entry& entry : entries_) {
      if (entry.name != name) continue;
      entry.used = true;
      add_change(kind, name, entry.value, changes);
    }
  }
  constexpr std::size_t kMostChanges = 10'000;
  if (changes.size() > kMostChanges) {
    complain(fmt::format("{} links are changed; the limit is {}", changes.size(), kMostChanges));
  }
  return changes;
}

bool Parameters::fits(double endpoints, double cables) {
  if (endpoints > kMaxEndpoints) {
    complain(
        fmt::format("it would have {:.0f} endpoints; the limit is {}", endpoints, kMaxEndpoints));
    return false;
  }
  if (cables * 2 > static_cast<double>(kMaxLinks)) {
    complain(fmt::format("it would have {:.0f} cables; the limit is {}", cables, kMaxLinks / 2));
    return false;
  }
  return true;
}

bool Parameters::done() {
  for (Entry& entry : entries_) {
    if (entry.used) continue;
    entry.used = true;
    if (entry.name.empty()) {
      complain(fmt::format("{} is not understood; parameters are NAME=VALUE", shown(entry.value)));
      continue;
    }
    const std::string near = entry.name.size() > 100 ? "" : near_miss(entry.name, known_);
    complain(fmt::format("there is no parameter {}{}", shown(entry.name),
                         near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  return complaints_.empty();
}

Error Parameters::error() const {
  return complaints_.error("docs/topologies.md lists every builder with its parameters");
}

}  // namespace weft

#include "flow/path_choice.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/delimited.h"

namespace weft {
namespace {

// Finalizer of splitmix64 (Steele, Lea and Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t hash(const FlowLabel& flow, std::uint64_t seed) {
  const std::uint64_t ends = std::uint64_t{flow.source} << 32 | flow.destination;
  return mix(mix(mix(seed + 0x9e3779b97f4a7c15ULL) ^ ends) ^ flow.number);
}

}  // namespace

std::uint32_t choose_ecmp(const FlowLabel& flow, std::uint32_t paths, std::uint64_t seed) {
  return static_cast<std::uint32_t>(hash(flow, seed) % paths);
}

std::uint32_t choose_d_mod_k(const FlowLabel& flow, std::uint32_t paths) {
  return flow.destination % paths;
}

std::uint32_t choose_rail(const FlowLabel& flow, std::uint32_t paths, std::uint32_t per_node) {
  return flow.destination % per_node % paths;
}

std::uint32_t choose_least_loaded(const FlowLabel& flow, std::uint32_t paths,
                                  const std::function<double(std::uint32_t path)>& load,
                                  std::uint32_t most) {
  std::uint32_t best = 0;
  double least = 0;
  bool first = true;
  for (const std::uint32_t path : choose_spray(flow, paths, most)) {
    const double here = load(path);
    if (!first && here >= least) continue;
    best = path;
    least = here;
    first = false;
  }
  return best;
}

std::vector<std::uint32_t> choose_spray(const FlowLabel& flow, std::uint32_t paths, std::uint32_t n,
                                        std::uint64_t seed) {
  n = std::min(n, paths);
  const std::uint64_t start = hash(flow, seed) % paths;
  std::vector<std::uint32_t> chosen;
  chosen.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    chosen.push_back(static_cast<std::uint32_t>((start + i * paths / n) % paths));
  }
  return chosen;
}

Result<PathRule> parse_path_rule(std::string_view text) {
  using Kind = PathRule::Kind;
  PathRule rule;
  if (text == "ecmp") return rule;
  if (text == "d-mod-k") return PathRule{Kind::kDModK};
  if (text == "least-loaded") return PathRule{Kind::kLeastLoaded};
  if (text == "rail") return PathRule{Kind::kRail};
  if (text.starts_with("spray:")) {
    const auto n = parse_integer(text.substr(6));
    if (n && *n >= 1 && *n <= 65536) return PathRule{Kind::kSpray, static_cast<std::uint32_t>(*n)};
  }
  const std::string close =
      near_miss(std::string(text.substr(0, 100)), {"ecmp", "d-mod-k", "least-loaded", "rail"});
  return Error{
      ErrorKind::kInvalidInput,
      fmt::format("path rule {} is not known{}", shown(text),
                  close.empty() ? "" : fmt::format("; did you mean '{}'?", close)),
      "the rules are ecmp, d-mod-k, least-loaded, rail and spray:N with N from 1 to 65536"};
}

std::vector<std::uint32_t> choose_paths(const PathRule& rule, const FlowLabel& flow,
                                        std::uint32_t paths,
                                        const std::function<double(std::uint32_t path)>& load) {
  switch (rule.kind) {
    case PathRule::Kind::kEcmp:
      return {choose_ecmp(flow, paths, rule.seed)};
    case PathRule::Kind::kDModK:
      return {choose_d_mod_k(flow, paths)};
    case PathRule::Kind::kLeastLoaded:
      return {choose_least_loaded(flow, paths, load)};
    case PathRule::Kind::kRail:
      return {choose_rail(flow, paths, rule.per_node)};
    case PathRule::Kind::kSpray:
      return choose_spray(flow, paths, rule.spray, rule.seed);
  }
  return {0};
}

}  // namespace weft

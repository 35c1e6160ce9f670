// Path choice, one of the five hooks of a flow scheduler: which of the paths between two endpoints
// a flow takes. Pure functions of what they are given; a path is a number below `paths`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

// What a flow is to a switch that spreads flows over paths.
struct FlowLabel {
  std::uint32_t source = 0, destination = 0;  // endpoints
  std::uint64_t number = 0;                   // of the flow between them: ports, queue pair
};

// Equal-cost multi-path: a hash of the label, the same for the same seed. Requires: paths > 0.
std::uint32_t choose_ecmp(const FlowLabel& flow, std::uint32_t paths, std::uint64_t seed = 0);

// Destination modulo number of paths (Zahavi, "D-Mod-K routing", on fat-trees): flows to one
// destination share a path, those to neighbours do not. Requires: paths > 0.
std::uint32_t choose_d_mod_k(const FlowLabel& flow, std::uint32_t paths);

// The path that belongs to the destination's place in its node, so that traffic stays on the rail
// it will arrive on. Requires: paths > 0, per_node > 0.
std::uint32_t choose_rail(const FlowLabel& flow, std::uint32_t paths, std::uint32_t per_node);

// The path with the least load, the first of them from a hashed start on, so that equal loads do
// not all land on path 0. Looks at `most` paths at most. Requires: paths > 0, most > 0.
// Cost: O(min(paths, most)) calls of `load`.
std::uint32_t choose_least_loaded(const FlowLabel& flow, std::uint32_t paths,
                                  const std::function<double(std::uint32_t path)>& load,
                                  std::uint32_t most = 64);

// `n` different paths, or all if there are fewer, evenly spread from a hashed start: a flow sprayed
// over them sends an equal part by each. Requires: paths > 0, n > 0.
std::vector<std::uint32_t> choose_spray(const FlowLabel& flow, std::uint32_t paths, std::uint32_t n,
                                        std::uint64_t seed = 0);

// A rule by name: "ecmp", "d-mod-k", "least-loaded", "rail" or "spray:N".
struct PathRule {
  enum class Kind { kEcmp, kDModK, kLeastLoaded, kRail, kSpray };
  Kind kind = Kind::kEcmp;
  std::uint32_t spray = 1;     // paths per flow
  std::uint64_t seed = 0;      // of the hash
  std::uint32_t per_node = 1;  // endpoints per machine
};
Result<PathRule> parse_path_rule(std::string_view text);

// The paths a flow is spread over evenly: one, or several when sprayed. `load` is called by
// least-loaded only. Requires: paths > 0.
std::vector<std::uint32_t> choose_paths(const PathRule& rule, const FlowLabel& flow,
                                        std::uint32_t paths,
                                        const std::function<double(std::uint32_t path)>& load);

}  // namespace weft

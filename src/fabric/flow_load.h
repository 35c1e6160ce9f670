// The loads that simulators of flows are measured with and compared on: the same flows for each.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "fabric/flow_sim.h"
#include "fabric/topology.h"

namespace weft {

enum class LoadPattern {
  kRandom,  // closed loop: where a flow ends, the next one starts
  kRing,    // steps in which every host sends to the next; a step starts when the last has ended
};

inline constexpr double kMeanRandomBytes = 100e6, kRingBytes = 1e6;
inline constexpr double kLoadLinkBytesPerS = 12.5e9;

// d hosts on each leaf, up to d leaves, d spines, links without latency; d = leaf_width(hosts).
// Requires: 2 <= hosts <= kMaxEndpoints.
Topology load_network(std::uint32_t hosts);
// The root of `hosts`, rounded up.
std::uint32_t leaf_width(std::uint32_t hosts);

struct LoadFlow {
  VertexId from = 0, to = 0;
  double bytes = 0;  // whole, at least 1
};

// The flows of a load in the order in which they start. Random ones have uniform ends and
// exponential sizes; the same seed gives the same flows. Requires: hosts >= 2.
class LoadSource {
 public:
  LoadSource(LoadPattern pattern, std::uint32_t hosts, std::uint64_t seed)
      : pattern_(pattern), hosts_(hosts), random_(seed) {}
  LoadFlow next();
  std::uint64_t taken() const { return taken_; }

 private:
  LoadPattern pattern_;
  std::uint32_t hosts_;
  Random random_;
  std::uint64_t taken_ = 0;
};

// A load on FlowSim, over the D-mod-K paths of load_network(): its links and nothing else of it are
// kept. Flows are numbered from 0 in the order of their source.
class FlowLoad {
 public:
  // `flows` run at a time; a ring has as many as there are hosts. Requires: flows > 0.
  FlowLoad(LoadPattern pattern, std::uint32_t hosts, std::uint32_t flows, std::uint64_t seed);

  // Moves time to the next end and starts what follows. Ensures: ended() holds who ended at now().
  void advance();
  const std::vector<std::uint64_t>& ended() const { return ended_numbers_; }
  Seconds now() const { return sim_.now(); }
  std::size_t running() const { return sim_.running(); }

 private:
  FlowLoad(LoadPattern pattern, std::uint32_t flows, LoadSource source, const Topology& network);
  void start(std::size_t count);

  LoadPattern pattern_;
  std::uint32_t flows_;
  LoadSource source_;
  std::shared_ptr<const Paths> paths_;  // shared as in Topology
  FlowSim sim_;
  std::vector<std::uint64_t> number_;  // by flow of sim_
  std::vector<FlowId> ended_;
  std::vector<std::uint64_t> ended_numbers_;
  std::vector<LinkId> path_;
};

}  // namespace weft

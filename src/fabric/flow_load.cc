#include "fabric/flow_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "flow/path_choice.h"

namespace weft {
namespace {

std::vector<double> capacities(const Topology& network) {
  std::vector<double> bytes_per_s;
  bytes_per_s.reserve(network.links.size());
  for (const DirectedLink& link : network.links) bytes_per_s.push_back(link.bytes_per_s);
  return bytes_per_s;
}

}  // namespace

std::uint32_t leaf_width(std::uint32_t hosts) {
  return static_cast<std::uint32_t>(std::ceil(std::sqrt(static_cast<double>(hosts))));
}

Topology load_network(std::uint32_t hosts) {
  CHECK(hosts >= 2 && hosts <= kMaxEndpoints);
  const std::uint32_t width = leaf_width(hosts);
  auto network = parse_topology_shorthand(
      fmt::format("clos:hosts={},hosts_per_leaf={},spines={},levels=2,bandwidth={}GB/s,latency=0s",
                  hosts, width, width, kLoadLinkBytesPerS * 1e-9));
  CHECK(network.ok());
  return std::move(*network);
}

LoadFlow LoadSource::next() {
  const std::uint64_t number = taken_++;
  if (pattern_ == LoadPattern::kRing) {
    const auto rank = static_cast<VertexId>(number % hosts_);
    return {rank, (rank + 1) % hosts_, kRingBytes};
  }
  LoadFlow flow;
  flow.from = static_cast<VertexId>(random_.below(hosts_));
  flow.to = static_cast<VertexId>(random_.below(hosts_ - 1));
  if (flow.to >= flow.from) ++flow.to;
  flow.bytes = std::max(1.0, std::ceil(random_.exponential(kMeanRandomBytes)));
  return flow;
}

FlowLoad::FlowLoad(LoadPattern pattern, std::uint32_t hosts, std::uint32_t flows,
                   std::uint64_t seed)
    : FlowLoad(pattern, pattern == LoadPattern::kRing ? hosts : flows,
               LoadSource(pattern, hosts, seed), load_network(hosts)) {}

FlowLoad::FlowLoad(LoadPattern pattern, std::uint32_t flows, LoadSource source,
                   const Topology& network)
    : pattern_(pattern),
      flows_(flows),
      source_(source),
      paths_(network.paths),
      sim_(capacities(network)),
      number_(flows) {
  CHECK(flows > 0);
  start(flows_);
}

void FlowLoad::start(std::size_t count) {
  for (; count > 0; --count) {
    const std::uint64_t number = source_.taken();
    const LoadFlow flow = source_.next();
    path_.clear();
    const std::uint32_t paths = paths_->count(flow.from, flow.to);
    paths_->path(flow.from, flow.to, choose_d_mod_k({flow.from, flow.to}, paths), path_);
    // Ids of ended flows are used again, so there are never more than run at a time.
    number_[sim_.start({path_}, flow.bytes)] = number;
  }
}

void FlowLoad::advance() {
  sim_.advance_to(sim_.next_end(), ended_);
  ended_numbers_.clear();
  for (FlowId id : ended_) ended_numbers_.push_back(number_[id]);
  if (pattern_ == LoadPattern::kRandom) {
    start(ended_.size());
  } else if (sim_.running() == 0) {
    start(flows_);
  }
}

}  // namespace weft

// A network in figures, for people who compare networks.
#pragma once

#include <string>
#include <vector>

#include "fabric/max_flow.h"
#include "fabric/topology.h"

namespace weft {

struct TopologySummary {
  std::uint32_t endpoints = 0, switches = 0, nics = 0, bridges = 0;

  struct Speed {
    double bytes_per_s = 0;
    std::uint64_t links = 0;  // directions count apart
  };
  std::vector<Speed> speeds;  // fastest first

  // Over path 0 of all pairs, or of a seeded sample of them.
  std::uint64_t pairs = 0;
  bool all_pairs = false;
  std::uint32_t longest_links = 0;  // the diameter, if all pairs
  double mean_links = 0;
  double mean_paths = 0;  // alternatives per pair
  Seconds longest_latency = 0, mean_latency = 0;
  double mean_price_per_gb = 0, highest_price_per_gb = 0;

  Bisection bisection;
};

// Cost: at most about 65,000 pairs and the halvings of bisection().
TopologySummary summarize_topology(const Topology& topology);

// How time is computed on this network, in words: every output that shows times prints it.
std::string model_in_words(const Topology& topology);

}  // namespace weft

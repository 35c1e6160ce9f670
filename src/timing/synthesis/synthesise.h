// Makes a schedule for one network: trees packed into it, pipelined.
#pragma once

#include <vector>

#include "base/result.h"
#include "collective/algorithms.h"
#include "timing/synthesis/tree_packing.h"

namespace weft {

inline constexpr std::string_view kSynthesised = "synthesised";
inline constexpr int kMaxSynthesisRanks = 64;

// Few trees are soon through, many fit a network better; which is best depends on the bytes.
struct Synthesis {
  collective::Operation operation = collective::Operation::kAllReduce;
  std::vector<Packing> packings;  // more trees, less congestion
  double least_s_per_byte = 0;    // what no schedule goes below (cut_bound.h)
};

// Why it cannot be done for this operation and number of ranks; empty when it can.
std::string synthesis_refusal(const collective::Request& request, const Topology& topology);

// Requires: synthesis_refusal() is empty.
// Cost: up to some seconds for 64 ranks.
Synthesis synthesise(const collective::Request& request, const Topology& topology);

// A schedule with this packing, each tree's part in `chunks` pieces.
// Ensures: verify() accepts it.
collective::Schedule synthesised_schedule(const Synthesis& synthesis, std::size_t packing,
                                          int chunks);

// Numbers of pieces worth timing for so many bytes, by the length of a pipeline.
std::vector<int> promising_chunks(const Packing& packing, const Topology& topology,
                                  collective::Operation operation, double bytes);

}  // namespace weft

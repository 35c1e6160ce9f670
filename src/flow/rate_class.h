// Hook 4 of a flow scheduler: how fast. Weighted max-min inside strict ranks, with caps, is all
// that a link is asked to do; schedulers differ in the rank, weight and cap they give.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weft {

struct RateClass {
  std::uint32_t rank = 0;  // a lower rank is served first and sees nothing of higher ones
  double weight = 1;       // above 0; shares inside a rank are in proportion
  double cap = std::numeric_limits<double>::infinity();  // bytes per second
};

// Weight of a flow that has sent `progress` (0..1) of its iteration's bytes: `first` at the start,
// rising in a straight line to `last`. Who is ahead gets more and so ends sooner; over iterations
// the communication phases of jobs slide apart by themselves. That the share must rise with the
// bytes sent is MLTCP's principle (Rajasekaran et al., arXiv 2402.09589); the two ends are ours.
double progress_weight(double progress, double first = 0.25, double last = 2.0);

// What a job was promised of every link on its path, and the most it may use; bytes per second.
struct BandwidthShare {
  double guarantee = 0;  // 0: none
  double limit = std::numeric_limits<double>::infinity();
};

// Classes under which every job gets its guarantee whenever it asks for it and never more than its
// limit; what is left goes to those with a guarantee in proportion to it, then to the others.
// Why it holds: in max-min with the guarantees as weights, a link that is full has a level of at
// least capacity / (sum of the guarantees on it), which is 1 or more.
// Requires: on no link do the guarantees add up to more than its capacity; limit >= guarantee.
std::vector<RateClass> share_classes(std::span<const BandwidthShare> shares);

}  // namespace weft

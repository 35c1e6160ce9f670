// What no schedule of a trace's coflows can beat.
#pragma once

#include "fabric/coflow/coflow_trace.h"

namespace weft {

// A lower bound on the mean time from arrival to end of the coflows, over all schedules in which a
// port moves at most `bytes_per_s` each way, clairvoyant ones included.
//
// A coflow ends no earlier than its share ends on any of its links, nor than alone on an empty
// switch. So, for weights of each coflow over these that add up to 1, the sum of the ends is at
// least the sum over links of the least weighted sum of ends on that link alone; and that is at
// least the mean busy times of the preemptive schedule by weight / bytes, plus half the processing
// times (Goemans, "Improved approximation algorithms for scheduling with release dates", SODA
// 1997). The bound holds for any weights; `rounds` of ascent make it good. Cost: O(rounds *
// (coflows x links) log).
Seconds mean_time_bound(const CoflowTrace& trace, double bytes_per_s, int rounds = 300);

}  // namespace weft

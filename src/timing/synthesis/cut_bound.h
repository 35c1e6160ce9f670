// How fast a collective can be at best on a network, whatever its schedule.
#pragma once

#include "collective/schedule.h"
#include "timing/synthesis/rank_graph.h"

namespace weft {

// Seconds per byte that no schedule of moving and adding at the ranks can go below; latency is not
// counted, nor is adding in switches. Groups of ranks are looked at: each rank alone, and those
// that form when ranks are joined in the order of a cheapest tree under `length` (by link; what a
// packing has paid in the end shows where a network is narrow). What flows into and out of a group
// at most is its min-cut:
//  - all-reduce: every group receives and sends the whole data; and k groups that make up all ranks
//    receive it 2(k-1) times in total: until the first group has a sum of all, each of the others
//    has sent, and after that each of the others still has to receive. On networks without switches
//    whose cables are as fast both ways this is the bound of Tutte and Nash-Williams (1961), which
//    packed trees reach;
//  - all-gather, reduce-scatter: a group receives (sends) what is made outside it and sends
//    (receives) what is made inside: the bottleneck cut of ForestColl (Zhao and others, 2024);
//  - broadcast, reduce: the whole data crosses every cut between the root and another rank, which
//    packed trees reach (Edmonds, "Edge-disjoint branchings", 1973).
// Requires: one of these operations; ranks >= 2; length.size() == number of links.
// Cost: at most 4 * ranks max-flows.
double least_s_per_byte(const RankGraph& graph, collective::Operation operation, int root,
                        const std::vector<double>& length);

}  // namespace weft

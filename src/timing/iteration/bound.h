// How short an iteration can be, whatever the scheduler does.
#pragma once

#include <span>

#include "timing/iteration/graph.h"

namespace weft {

// Work for one machine: not before `head`, then `work`, then `tail` more until the end.
struct HeadTail {
  Seconds head = 0, work = 0, tail = 0;
};

// The shortest makespan of one machine that may interrupt work: always the longest tail among what
// is ready (Jackson's preemptive rule, optimal for this problem; Carlier 1982 uses it as a bound).
// Equals the largest, over all subsets, of least head + sum of work + least tail.
// Cost: O(n log n).
Seconds preemptive_makespan(std::span<const HeadTail> work);

// A lower bound of the time from one end of an iteration to the next, for every way of cutting,
// joining, ordering and rating the transfers, alone or beside other jobs. `link_bytes_per_s` is
// indexed by LinkId.
//
// Why it holds. All ops of an iteration lie between two such ends, by the definition of the end.
// Take any machine: a device, or a link with the transfers that cross it. A computation occupies
// its device for its seconds. A transfer of b bytes occupies a link of B bytes per second for at
// least factor × b / B in sum, however it is cut, for the rates on a link never exceed B. Neither
// begins before its head: what it needs has ended (a message is formed only from gradients that
// exist), and before a transfer's first byte there is the overhead of one message; joined messages
// share overhead, so it is counted once per path and not as work. After its end, its latency
// passes, and then everything that waits for it runs: its tail. A transfer that follows another can
// begin one latency and one overhead after the other begins, and ends no sooner than that after the
// other ends. Heads and tails so found are, for each op, the longest chain, or if greater the whole
// work of one device among all ops that must precede (succeed) it, since a device does one at a
// time. With heads, work and tails all below those of any real schedule, the best preemptive
// schedule of this one machine is no longer than the real iteration. The bound is the largest over
// machines.
//
// For a chain of layers and one wire without overhead, serving by first use with ever smaller
// slices comes arbitrarily close, so the bound is tight there.
Seconds ideal_iteration(const IterationGraph& graph, std::span<const double> link_bytes_per_s);

}  // namespace weft

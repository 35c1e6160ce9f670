// How long ranks take to exchange data: closed forms over measured latencies and bandwidths.
#pragma once

#include "base/units.h"
#include "planner/hardware.h"

namespace weft::planner {

// `members` ranks, of which `per_node` share a node.
struct Group {
  int members = 1;
  int per_node = 1;
};

// Ring inside a node; between nodes the faster of ring and tree, with the cards of a node shared by
// the groups that cross it. `bytes` is the whole buffer of one rank.
Seconds all_reduce_seconds(const Machines& machines, Group group, double bytes);
// All-gather or reduce-scatter; `bytes` is the gathered buffer.
Seconds gather_seconds(const Machines& machines, Group group, double bytes);
// Every rank sends `bytes` in all, evenly to the members.
Seconds all_to_all_seconds(const Machines& machines, Group group, double bytes);
// From one device to another, all devices of the nodes sending at once.
Seconds send_seconds(const Machines& machines, bool same_node, double bytes);

// What is left of an exchange beside `beside` seconds of computation: what sticks out, and what it
// slows the computation by while it hides (both want memory bandwidth and processors).
Seconds exposed_seconds(Seconds exchange, Seconds beside);

}  // namespace weft::planner

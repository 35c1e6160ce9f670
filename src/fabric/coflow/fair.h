// Every flow for itself: max-min over all flows of all coflows.
#pragma once

#include "fabric/coflow/engine.h"

namespace weft {

// Fills in `run`, whose coflows have their arrivals. How: flows between the same two ports have one
// rate, so one bundle holds a flow for each pair of ports, weighted by how many there are, with
// what the shortest has left. Cost of an event: one give_max_min(). Switches with too many ports
// for such a table go through FlowSim.
void run_fair_flows(const CoflowTrace& trace, const CoflowOptions& options, CoflowRun& run);

// The same in FlowSim, every flow a flow: slower where most pairs of ports have flows.
void run_fair_in_flow_sim(const CoflowTrace& trace, const CoflowOptions& options, CoflowRun& run);

}  // namespace weft

// The rules of coflowsim, the public simulator of Varys' authors, to compare results line by line.
#pragma once

#include <string>

#include "fabric/coflow/engine.h"

namespace weft {

// fifo, scf, ncf, lcf and sebf: its coflow schedulers; aalo: its queue simulator (DARK). Its
// per-flow simulator has rules of its own, which are not built.
bool has_coflowsim_rules(const std::string& policy);
std::string coflowsim_policies();

// Runs the trace as coflowsim does: a second of 1024 ms, in which a port moves 128 MiB; steps of
// 8 ms; coflows start at the beginning of the 10.24 s epoch in which they arrive; rates are set
// only when coflows come or end. What MADD leaves is first divided once among the coflows it had no
// room for, then given flow by flow, by deadlines that coflowsim draws itself. aalo: each coflow in
// turn divides once what its ports have left; nothing more is given. Since coflows start
// before they arrive, its times are not held against the lower bound. Requires:
// has_coflowsim_rules(policy).
CoflowRun run_like_coflowsim(const CoflowTrace& trace, const std::string& policy);

}  // namespace weft

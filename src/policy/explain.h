// Why a job still waits: the facts, which are the same under every policy, and what the allocator
// says of its own rule.
#pragma once

#include <string>

#include "policy/draft.h"
#include "policy/place.h"

namespace weft {

// The watched job if it waits, else null: then there is nothing to explain, and an allocator need
// not find out what it would say.
const JobState* to_explain(const State& state);

// Tells what the watched job needs, what is free, whether it would fit, and then `why`: what else
// keeps it waiting by the allocator's rule. `ahead`: how many jobs come before it in its order.
// Requires: to_explain(draft.state()) is not null; the decision is made.
void explain_waiting(Draft& draft, const Place& place, std::uint32_t ahead, const std::string& why);

}  // namespace weft

// What the planner's verbs say about one layout.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "planner/search.h"

namespace weft {

// Knobs, time with its breakdown, memory by its parts, and the exact schedule's time where one can
// be made.
nlohmann::ordered_json describe_candidate(const planner::Workload& work,
                                          const planner::Candidate& candidate);

// Operations of the model (without recomputation) over what the devices could do at their peak.
double flops_utilisation(const planner::Workload& work, const planner::Candidate& candidate);

// Which part of the second's time would have to shrink, and by how much, for it to win.
std::string what_would_win(const planner::Candidate& best, const planner::Candidate& second);

// The best layout's memory, stage by stage.
std::string memory_text(const planner::Workload& work, const planner::SearchAnswer& answer);

// Arguments for Megatron-LM under torchrun.
std::string launch_flags(const planner::Workload& work, const planner::Layout& layout);

// Pictures of the layout's pipeline, solved exactly; an empty path writes nothing.
Status write_pipeline_charts(const planner::Workload& work, const planner::Candidate& candidate,
                             const std::string& svg, const std::string& perfetto);

}  // namespace weft

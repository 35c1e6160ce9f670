// What the planner's verbs say about one layout.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "pipeline_chart.h"
#include "planner/search.h"

namespace weft {

// Knobs, time with its breakdown, memory by its parts, and the exact schedule where it was solved;
// with `over_time` also what each stage holds while it runs.
nlohmann::ordered_json describe_candidate(const planner::Workload& work,
                                          const planner::Candidate& candidate,
                                          bool over_time = false);

// Operations of the model (without recomputation) over what the devices could do at their peak.
double flops_utilisation(const planner::Workload& work, const planner::Candidate& candidate);

// Which part of the second's time would have to shrink, and by how much, for it to win.
std::string what_would_win(const planner::Candidate& best, const planner::Candidate& second);

// The parts of a step's time, in the order they are told.
struct NamedPart {
  const char* name;
  Seconds planner::StepTime::*seconds;
};
std::span<const NamedPart> time_parts();

// Arguments for Megatron-LM under torchrun.
std::string launch_flags(const planner::Workload& work, const planner::Layout& layout);

// Pictures of the layout's pipeline, solved exactly; an empty path writes nothing.
Result<TimedPipeline> solved_pipeline(const planner::Workload& work, const planner::Layout& layout);
Status write_pipeline_charts(const planner::Workload& work, const planner::Candidate& candidate,
                             const std::string& svg, const std::string& perfetto);

}  // namespace weft

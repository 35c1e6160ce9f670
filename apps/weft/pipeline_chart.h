// Pictures of pipeline schedules.
#pragma once

#include <string>
#include <vector>

#include "pipeline/schedule.h"
#include "pipeline/solve.h"

namespace weft {

struct TimedPipeline {
  pipeline::Schedule schedule;
  pipeline::Timeline timeline;
};

// One Gantt chart per schedule, one below the other, on one time scale.
std::string pipeline_svg(const std::vector<TimedPipeline>& runs);

// Chrome/Perfetto trace events: a process per schedule, a thread per device and, if it moves data
// by listed operations, one for these.
std::string pipeline_trace(const std::vector<TimedPipeline>& runs);

}  // namespace weft

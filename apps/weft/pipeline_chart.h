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

}  // namespace weft

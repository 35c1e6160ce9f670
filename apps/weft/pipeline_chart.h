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

// One Gantt chart per schedule, one below the other, on one time scale. Of schedules with more
// operations than `most_bars` in all, the beginning; the title says up to when.
std::string pipeline_svg(const std::vector<TimedPipeline>& runs, std::size_t most_bars = 100'000);

}  // namespace weft

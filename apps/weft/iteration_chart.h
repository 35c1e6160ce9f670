// Training iterations as pictures: a chart as SVG, and events for Perfetto.
#pragma once

#include <string>
#include <vector>

#include "timing/iteration/scheduler.h"

namespace weft {

// The last two iterations of the slowest job, one row for each device and wire of each job, one
// section for each run. Requires: the runs were recorded; their jobs are those of the file.
std::string iteration_svg(const TrainingFile& file, const std::vector<SchedulerRun>& runs);

// All iterations in the JSON format of Chrome's trace events; a process for each run and job.
std::string iteration_trace(const TrainingFile& file, const std::vector<SchedulerRun>& runs);

}  // namespace weft

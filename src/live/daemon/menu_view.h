// A job's menu as callers of the interface see it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "live/job/job_spec.h"
#include "model/cluster.h"
#include "model/workload.h"

namespace weft::live {

// A list of {devices, type, codec, sync, collective, rate, efficiency, efficiency_source,
// bytes_per_step, seconds_per_step, coding_s}, in the menu's order; what is not known is null.
nlohmann::json menu_view(const Menu& menu, const JobSpec& job, const Cluster& cluster);

}  // namespace weft::live

// What was measured of a job before it came: how much it is, and how fast each way of running it
// goes. It takes the place of beliefs in the job's menu.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/job/job_spec.h"

namespace weft::live {

struct ProfileRow {
  std::uint32_t workers = 1;
  std::string codec, sync;    // as in the job's lists; empty: it has none
  double rate = 0;            // work units per second on as few nodes as can be
  double scattered_rate = 0;  // on more nodes; 0: as `rate`
  Seconds compute = 0;        // of a step, before anything is sent
  Bytes bytes_per_step = 0;   // that an all-reduce has to move after it
  double efficiency = 1;      // progress per work unit
};

struct JobProfile {
  double work = 0;  // units in all
  std::vector<ProfileRow> rows;
};

// {"work": N, "rows": [{"workers", "codec", "sync", "rate", "scattered_rate", "compute_s",
// "bytes_per_step", "efficiency"}]}. The error names what is wrong.
Result<JobProfile> profile_from_json(const nlohmann::json& object);

// Entries of the menu get what the row of their workers, codec and sync mode says; entries without
// a row are left out. Error: what the job asks for has none.
Status apply_profile(const JobProfile& profile, const JobSpec& job, Submission& submission);

}  // namespace weft::live

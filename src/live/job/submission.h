// From what a user asks for to what the controller decides about.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/job/job_spec.h"

namespace weft::live {

// The controller's clock, and the calendar at the same moment (seconds since 1970).
struct SubmitTime {
  Seconds now = 0;
  double unix_s = 0;
};

// The job as the controller sees it on this cluster. Configuration 0 of its menu is what was asked
// for; then come other device types, codecs and sync modes, and the other sizes of an elastic job.
// Rates are beliefs relative to configuration 0, by the number and speed of devices, until the job
// reports its own; with `codec: auto` and a `model` also by what the cost model of training says of
// codecs, sync modes and algorithms, of which the best is configuration 0.
// Ensures: configurations that could not run on the empty cluster are left out. When configuration
// 0 cannot run on any type, the error says so and names the nearest that would.
// Requires: check_job() has nothing against the job. Cost: O(nodes · alternatives).
Result<Submission> make_submission(const JobSpec& job, const Cluster& cluster, TenantId tenant,
                                   const SubmitTime& time);

// One job for each member of the array, in order, named NAME.INDEX, each with its index in
// WEFT_ARRAY_INDEX and SLURM_ARRAY_TASK_ID. A member's `array` is its own index and the at_once of
// the whole, which whoever starts them keeps. A job without an array is its own only member, and so
// is a member.
std::vector<JobSpec> expand_array(const JobSpec& job);

// Variables that ranks get beside those that tell their place (RANK and the like): the job's own,
// its name in WEFT_JOB, its folder for checkpoints in WEFT_CHECKPOINT_DIR, and in WEFT_SYNC,
// WEFT_CODEC and WEFT_ALGORITHM what was chosen from its menu.
std::map<std::string, std::string> job_environment(const JobSpec& job, const Configuration& chosen);

// Worker counts that an elastic job may have, ascending: min, max, what was asked for, powers of
// two within a node and whole nodes beyond, at most kMostSizes. Only the one asked for otherwise.
inline constexpr std::size_t kMostSizes = 16;
std::vector<std::uint32_t> elastic_sizes(const JobSpec& job);

}  // namespace weft::live

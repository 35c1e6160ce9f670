// What is to come, computed from what is: declared here, filled in by whoever can run a copy of the
// controller ahead of time.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace weft {

// Why a job is believed to need so long.
enum class ForecastSource : std::uint8_t { kUser, kProgress, kHistory, kAssumed };
inline constexpr const char* kForecastSourceNames[] = {
    "the user's time", "measured progress", "jobs that have ended", "nothing known; assumed"};

struct ForecastTask {
  const Cluster& cluster;
  const Policy& policy;
  std::string_view image;  // Controller::image()
  JobId watched = kNoJob;  // whose waiting is to be explained
  Seconds budget_s = 1;    // of this machine's time
};

struct JobForecast {
  Seconds start = kNever;  // the next; of a job that runs, the time of the state
  Seconds end = kNever;
  Seconds needs_s = 0;  // believed, from the state on, on what it asked for
  ForecastSource source = ForecastSource::kAssumed;
  bool rejected = false;
};

struct Forecast {
  Seconds at = 0;                     // of the state
  Seconds until = 0;                  // it was run ahead to here
  bool whole = true;                  // false: the budget ended first, and nothing later is known
  std::map<JobId, JobForecast> jobs;  // those that have not ended
  std::vector<Reason> reasons;        // why the watched job waits, in order of time
};

class Forecaster {
 public:
  virtual ~Forecaster() = default;
  // Runs a copy of the state ahead under the policy, as if nothing arrived and nothing failed any
  // more. The policy begins without what it remembers, as after a restart of the controller.
  // Ensures: returns soon after the budget is spent. Thread-safety: any thread.
  virtual Result<Forecast> forecast(const ForecastTask& task) const = 0;
};

// What this decision would be, and no more: who would hold what if the policy took over now.
struct Takeover {
  std::vector<JobId> stopped;  // held something and would hold nothing
  std::vector<JobId> started;
  std::vector<JobId> changed;  // would hold something else
  std::vector<JobId> rejected;
};
Result<Takeover> preview_policy(const Cluster& cluster, const Policy& policy,
                                std::string_view image);

}  // namespace weft

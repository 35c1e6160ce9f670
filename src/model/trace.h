// A trace: submissions together with the truth about them. Only readers, the generator and `sim`
// include this header; the build keeps it from `policy` and `control` by a test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/goodput.h"
#include "model/pairs.h"
#include "model/workload.h"

namespace weft {

struct LoadStep {
  Seconds at = 0;
  double requests_per_s = 0;
};

// From `from_work` units of work on, the job progresses `speed` times as fast as the rate of its
// configuration says.
struct SpeedPhase {
  double from_work = 0;
  double speed = 1;
};

// What really happens, whatever anybody believed.
struct Truth {
  // Training and tasks: work units until done; progress per second is the rate of the
  // configuration. Services: ignored.
  double work = 0;
  // Before the first progress after each start, besides what the options of a run say.
  Seconds loading = 0;
  // Jobs that change their batch size: ascending, the first at 0. Empty: one speed all along.
  std::vector<SpeedPhase> phases;
  // Elastic jobs whose speed follows gang, batch size and epoch; work is counted in useful steps.
  // Its on_types are those of the cluster, by TypeId. Null: speed is the rate of the configuration.
  std::shared_ptr<const Goodput> goodput;
  // Services: load as a step function of trace time, and when the service is taken down.
  std::vector<LoadStep> load;
  Seconds service_end = kNever;
  Seconds user_estimate = std::numeric_limits<double>::quiet_NaN();

  // How fast the job goes when so much of its work is done, relative to its configuration's rate.
  double speed_at(double work_done) const;
  // The work at which that changes next, or at which all is done.
  double speed_changes_at(double work_done) const;
  // Seconds from begin to end at this rate. Requires: rate > 0.
  Seconds duration_at(double rate) const;
};

struct TraceJob {
  std::shared_ptr<const Submission> submission;
  Truth truth;
};

// Ensures: jobs ascend by (submit, order in the file); names are unique; every number is finite
// and in range.
struct Trace {
  std::string path, format;
  std::vector<TraceJob> jobs;
  std::vector<std::string> tenants;
  std::shared_ptr<const PairTable> pairs;  // may be null
  long skipped_rows = 0;  // rows the format tells to ignore (e.g. pods without a GPU)
};

struct TraceOptions {
  std::string format = "auto";
  // Companion file or folder: Gavel's throughput JSON, Sia's profile folder, pair tables.
  // Empty: looked for beside the trace.
  std::string profiles;
};

inline constexpr std::uint64_t kMaxTraceBytes = std::uint64_t{4} << 30;
inline constexpr double kMaxDuration = 1e10;  // seconds
inline constexpr std::uint32_t kMaxJobDevices = 1'000'000;

// `cluster` gives the device types that menus refer to. Cost: O(bytes + jobs log jobs).
Result<Trace> read_trace(const std::string& path, const Cluster& cluster,
                         const TraceOptions& options);
std::vector<std::string> trace_formats();

}  // namespace weft

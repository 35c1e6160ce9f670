// One run of the demo: forecast, submissions, a death on the way, and what came of it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "demo_cluster.h"

namespace weft {

struct DemoOutcome {
  std::string job, state, how;  // how: codec and sync mode it ended with
  Seconds submitted = 0, started = kNever, ended = kNever;  // from the run's first submission
  Seconds predicted = 0, predicted_start = 0;               // from submission
  std::uint32_t predicted_restarts = 0;
  int restarts = 0;
  double loss = 0;
  bool finished() const { return state == "finished"; }
  Seconds measured() const { return ended - submitted; }
  double error_pct() const { return 100 * (predicted - measured()) / measured(); }
};

struct DemoResult {
  std::string name;
  std::vector<DemoOutcome> jobs;
  std::string killed;  // which rank of what, and when; empty: nobody
  bool all_finished() const;
  Seconds mean_time() const;      // from submission to end
  double mean_error_pct() const;  // without sign
};

// Measures the demo's models on the cluster.
Result<Calibration> demo_calibrate(DemoCluster& cluster, const DemoPark& park,
                                   const std::string& folder);

// `show` is called twice a second with all jobs as the daemon tells them and the time since the
// first submission. `seed`: of the moment at which a rank dies.
using DemoShow = std::function<void(const nlohmann::json& jobs, Seconds now)>;
Result<DemoResult> demo_run(DemoCluster& cluster, const DemoStyle& style, const DemoPark& park,
                            const Calibration& calibration, const std::string& folder,
                            std::uint64_t seed, const DemoShow& show);

}  // namespace weft

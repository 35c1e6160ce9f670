// How results of `weft sim` are shown.
#pragma once

#include <string>
#include <vector>

#include "model/trace.h"
#include "sim/metrics.h"

namespace weft {

// Runs that differ only in their seed.
struct RunGroup {
  std::string label;
  double load = 1;
  std::vector<const RunResult*> runs;
  double mean(double (*value)(const RunResult&)) const;
  double deviation(double (*value)(const RunResult&)) const;
};

std::vector<RunGroup> group_by_seed(const std::vector<RunResult>& runs,
                                    const std::vector<double>& loads);
// The share of jobs that others slowed on the network.
double contended_part(const RunResult& run);
std::string runs_json(const std::vector<RunResult>& runs, const std::vector<double>& loads,
                      const Trace& trace);
// One row per job of every run.
std::string jobs_csv(const std::vector<RunResult>& runs, const std::vector<double>& loads,
                     const Trace& trace, std::uint32_t replicate);
// The name of job `index` of a run; copies made by --replicate are numbered.
std::string job_name(const Trace& trace, std::uint32_t replicate, size_t index);

}  // namespace weft

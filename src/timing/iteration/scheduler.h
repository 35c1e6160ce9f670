// Flow schedulers as compositions of hooks: one within each job, one between jobs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "timing/iteration/job_file.h"
#include "timing/iteration/sim.h"

namespace weft {

// Decides how a job's transfers are cut, ordered and windowed. `values` are those of the user, at
// most as many as the scheduler takes; none: its own choice.
struct WithinInput {
  const IterationGraph& graph;
  std::span<const double> link_bytes_per_s;
  std::span<const double> values;
};
struct WithinScheduler {
  std::string_view name, rule, source;
  std::string_view values;  // what the values mean; empty: takes none
  TransferPlan (*plan)(const WithinInput&);
};

// A job alone on the links under its within-job scheduler.
struct SoloRun {
  Seconds iteration = 0;
  std::vector<IterationSpan> spans;  // of its second iteration, from its begin
};

// Sets rate, progress and shift of every job's setting.
struct BetweenInput {
  const TrainingFile& file;
  std::span<const SoloRun> solo;
  std::span<const double> values;
};
struct BetweenScheduler {
  std::string_view name, rule, source;
  std::string_view values;
  void (*apply)(const BetweenInput&, std::vector<IterationSetting>& settings);
};

const std::vector<WithinScheduler>& within_schedulers();
const std::vector<BetweenScheduler>& between_schedulers();

struct FlowScheduler {
  std::string text;
  const WithinScheduler* within = nullptr;
  const BetweenScheduler* between = nullptr;
  std::vector<double> within_values, between_values;
};

// WITHIN, BETWEEN or WITHIN+BETWEEN, each NAME or NAME:VALUE/VALUE; what is left out is fifo, fair.
Result<FlowScheduler> parse_flow_scheduler(std::string_view text);

struct SchedulerJob {
  Seconds iteration = 0;  // steady; kNever: starved
  Seconds ideal = 0;      // no scheduler can be below it
  Seconds solo = 0;       // alone, with the same within-job scheduler
  std::string choice;     // messages, credit and shift in words
};

struct SchedulerRun {
  std::string scheduler;
  std::vector<SchedulerJob> jobs;
  IterationRun run;
};

// Requires: the scheduler came from parse_flow_scheduler(). Ensures: no iteration is below ideal.
SchedulerRun run_flow_scheduler(const TrainingFile& file, const FlowScheduler& scheduler,
                                std::uint32_t iterations, bool record);

}  // namespace weft

// Jobs that were there before the world began.
#include "base/check.h"
#include "sim/world.h"

namespace weft {

void World::adopt(JobId id, const TraceJob& trace, const Pursuit& pursuit, const Adopted& as,
                  Seconds now) {
  CHECK(id == jobs_.size());
  TrueJob& job = jobs_.emplace_back();
  job.trace = &trace;
  job.over = as.over;
  job.work_done = as.work_done;
  job.load = static_cast<float>(as.load);
  job.epoch = pursuit.epoch;
  // What is pending is asked again, under the same number.
  const bool settled =
      pursuit.standing == Standing::kIdle || pursuit.standing == Standing::kRunning;
  job.number = settled ? pursuit.number : pursuit.number - 1;
  records_.emplace_back().submit = now;
  contention_at_submit_.push_back(metrics_.contention(now));
  active_ += !as.over;
  const bool runs = !as.over && pursuit.standing != Standing::kIdle &&
                    pursuit.standing != Standing::kStarting && !pursuit.used.empty();
  if (!runs) return;
  job.run = std::make_unique<Run>();
  Run& run = *job.run;
  run.held = pursuit.change != nullptr ? pursuit.change->from : pursuit.used;
  run.stay_from = run.since = run.progress_from = run.saved_at = now;
  run.work_before = run.saved_work = job.work_done;
  records_[id].first_start = now;
  ++running_;
  occupy(id, run.held, now);
  run_on(id, now);
}

}  // namespace weft

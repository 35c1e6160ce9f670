// What running jobs draw and tell of themselves, and jobs whose speed changes: elastic ones with
// the epoch and when their agents tune the batch size, others with the phases of their truth.
#include "model/power.h"
#include "sim/world.h"

namespace weft {

double World::draw_of(JobId id, const DeviceShare& share) const {
  const TrueJob& job = jobs_[id];
  const Configuration& c = job.trace->submission->menu->configurations[job.run->held.configuration];
  const DeviceType& type = cluster_.types[cluster_.type_of(share.device)];
  return (busy_watts(type, cap_of(c, job.run->held)) - type.idle_watts) * share.milli / kWhole;
}

void World::report_rate(JobId id, Seconds now) {
  const TrueJob& job = jobs_[id];
  if (job.trace->submission->kind == WorkloadKind::kService) return;
  Event event;
  event.at = now;
  event.kind = EventKind::kProgress;
  event.job = id;
  event.epoch = job.epoch;
  event.value = job.work_done;
  if (job.run != nullptr) event.value2 = job.run->rate;
  if (job.agent != nullptr) {
    event.report = job.agent->report();
    // Restarting; it will tell when it runs.
    if (job.run != nullptr && job.run->since > now) event.value2 = 0;
  }
  listener_.tell(event);
}

void World::plan_measure(JobId id, Seconds at) {
  queue_.push(at, Happening::kMeasure, id, jobs_[id].agent->run());
}

void World::start_elastic(JobId id, Seconds now) {
  TrueJob& job = jobs_[id];
  const Menu& menu = *job.trace->submission->menu;
  job.run->since = now + job.agent->restart_s();
  job.agent->begin(job.run->held, menu.configurations[job.run->held.configuration], job.work_done);
  plan_measure(id, job.run->since + ElasticAgent::kFirstMeasure);
}

bool World::next_epoch(JobId id, Seconds now) {
  TrueJob& job = jobs_[id];
  if (job.agent->in_last_epoch()) return false;
  if (job.agent->enter_next_epoch()) plan_measure(id, now + ElasticAgent::kTuneInterval);
  run_on(id, now);
  report_rate(id, now);
  return true;
}

bool World::next_phase(JobId id, Seconds now) {
  if (jobs_[id].work_done >= jobs_[id].trace->truth.work) return false;
  run_on(id, now);
  report_rate(id, now);
  return true;
}

void World::measure_due(JobId id, std::uint32_t run, Seconds now) {
  TrueJob& job = jobs_[id];
  if (job.run == nullptr || run != job.agent->run()) return;
  settle(job, now);
  if (job.agent->measure()) plan_measure(id, now + ElasticAgent::kTuneInterval);
  run_on(id, now);
  report_rate(id, now);
}

}  // namespace weft

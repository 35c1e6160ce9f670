#include "sim/forecast.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "control/controller.h"
#include "sim/engine.h"

namespace weft {
namespace {

constexpr Seconds kAssumed = kHour;  // of a job of which nothing is known

struct NobodyListens : Executor {
  void execute(const Command&) override {}
};

struct ReasonsKept : Journal {
  void reason(const Reason& r) override { reasons.push_back(r); }
  std::vector<Reason> reasons;
};

// Mean run times of jobs that have ended: of the same tenant and size, of the tenant, of all.
class EndedJobs {
 public:
  explicit EndedJobs(const State& state) {
    for (const JobState& job : state.jobs) {
      if (job.phase != Phase::kEnded || job.spec == nullptr || job.closed_run_s <= 0) continue;
      for (Mean* mean : {&alike_[key(job)], &tenant_[job.spec->tenant], &all_}) {
        mean->sum += job.closed_run_s;
        ++mean->count;
      }
    }
  }
  // Below 0: not known.
  Seconds mean_for(const JobState& job) const {
    const auto alike = alike_.find(key(job));
    if (alike != alike_.end()) return alike->second.value();
    const auto tenant = tenant_.find(job.spec->tenant);
    return tenant != tenant_.end() ? tenant->second.value() : all_.value();
  }

 private:
  struct Mean {
    double sum = 0;
    long count = 0;
    Seconds value() const { return count > 0 ? sum / static_cast<double>(count) : -1; }
  };
  static std::pair<TenantId, std::uint32_t> key(const JobState& job) {
    return {job.spec->tenant, job.spec->requested().devices};
  }
  std::map<std::pair<TenantId, std::uint32_t>, Mean> alike_;
  std::map<TenantId, Mean> tenant_;
  Mean all_;
};

// What is left of a duration somebody or something expects. A job past it is expected to go on for
// as long as it is over: nothing better is known then.
Seconds left_of(Seconds expected, Seconds ran) { return std::max(1.0, std::abs(expected - ran)); }

JobForecast believed_need(const JobState& job, Seconds now, const EndedJobs& ended) {
  JobForecast out;
  const Seconds ran = job.attained_run_s(now);
  const double rate = job.running ? job.observed_rate : job.spec->requested().rate;
  if (job.spec->declared_work > 0 && job.reported_work > 0 && rate > 0) {
    out.needs_s = std::max(0.0, job.spec->declared_work - job.believed_work(now)) / rate;
    out.source = ForecastSource::kProgress;
  } else if (job.estimate.known()) {
    out.needs_s = left_of(job.estimate.duration, ran);
    out.source = job.estimate.source == EstimateSource::kHistory ? ForecastSource::kHistory
                                                                 : ForecastSource::kUser;
  } else if (const Seconds mean = ended.mean_for(job); mean > 0) {
    out.needs_s = left_of(mean, ran);
    out.source = ForecastSource::kHistory;
  } else {
    out.needs_s = std::max(kAssumed, ran);
  }
  return out;
}

}  // namespace

Result<Forecast> SimForecaster::forecast(const ForecastTask& task) const {
  const double begun = static_cast<double>(monotonic_ns()) * 1e-9;
  NobodyListens executor;
  Controller now_is(task.cluster, task.policy, executor, {});
  if (const Status restored = now_is.restore(task.image); !restored.ok()) return restored.error();
  const State& state = now_is.state();
  const EndedJobs ended(state);
  Forecast out;
  out.at = state.now;
  Trace trace;
  trace.path = "the state";
  for (const JobState& job : state.jobs) {
    TraceJob& traced = trace.jobs.emplace_back();
    traced.submission = job.spec;
    if (job.phase == Phase::kEnded) continue;
    const JobForecast& need = out.jobs[job.id] = believed_need(job, state.now, ended);
    traced.truth.work =
        job.believed_work(state.now) + need.needs_s * std::max(1e-9, job.spec->requested().rate);
  }
  ReasonsKept reasons;
  SimRequest request;
  request.cluster = &task.cluster;
  request.trace = &trace;
  request.policy = &task.policy;
  request.options.estimates.kind = EstimateMode::Kind::kUser;
  request.options.watch = task.watched;
  request.journal = &reasons;
  request.resume = task.image;
  request.stop = [&] { return static_cast<double>(monotonic_ns()) * 1e-9 > begun + task.budget_s; };
  auto result = simulate(request);
  if (!result.ok()) return result.error();
  out.until = out.at + result->makespan_s;
  out.whole = result->unfinished == 0;
  for (auto& [id, job] : out.jobs) {
    const JobRecord& record = result->records[id];
    job.start = record.first_start;
    job.end = record.rejected ? kNever : record.end;
    job.rejected = record.rejected;
  }
  out.reasons = std::move(reasons.reasons);
  return out;
}

}  // namespace weft

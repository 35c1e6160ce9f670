#include "sim/engine.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/stopwatch.h"
#include "sim/channel.h"
#include "sim/estimate.h"
#include "sim/event_queue.h"
#include "sim/faults.h"
#include "sim/feasible.h"
#include "sim/own_controller.h"
#include "sim/world.h"

namespace weft {
namespace {

class Engine : public Executor, public Listener, private Journal {
 public:
  explicit Engine(const SimRequest& request)
      : request_(request),
        options_(request.options),
        metrics_(*request.cluster, options_.record_timeline),
        world_(*request.cluster, options_, request.trace->pairs.get(), request.network.get(),
               queue_, metrics_, *this),
        channel_(options_.channel, options_.seed * 3 + 1, queue_),
        estimator_(options_.estimates, options_.seed * 3 + 2),
        faults_(*request.cluster, options_.faults, options_.seed * 3, queue_) {
    Executor& executor = *this;
    Journal& journal = *this;
    if (request.control_side) {
      CHECK_MSG(options_.channel.delay_mean > 0, "another controller needs a channel with a delay");
      control_ = request.control_side(executor, journal);
    } else {
      control_ = std::make_unique<OwnController>(request, executor, controller_options(), journal);
    }
    world_.reserve(request.trace->jobs.size() * options_.replicate);
    if (request.resume) adopt_all();
  }

  Result<RunResult> run();

  // Executor and Listener: the two ends of the channel.
  void execute(const Command& command) override {
    if (options_.channel.perfect()) {
      world_.execute(command, false, now_);
    } else {
      channel_.send(command, now_);
    }
  }
  void tell(const Event& event) override {
    if (options_.channel.perfect()) {
      inbox_.push_back(event);
    } else {
      channel_.send(event, now_);
    }
  }

 private:
  static constexpr Seconds kTimeout = 30;
  static constexpr long kMaxIdleTurns = 200'000;

  ControllerOptions controller_options() const {
    ControllerOptions options;
    options.command_timeout = std::max(kTimeout, 10 * options_.channel.delay_mean);
    options.estimates_from_history = options_.estimates.kind == EstimateMode::Kind::kHistory;
    options.clock_ns = &monotonic_ns;
    return options;
  }

  // Journal: passes on, and learns of rejected jobs.
  void event(const Event& e) override {
    if (request_.journal != nullptr) request_.journal->event(e);
  }
  void decision(Seconds at) override {
    if (request_.journal != nullptr) request_.journal->decision(at);
  }
  void decided(const Draft& draft) override {
    if (request_.journal != nullptr) request_.journal->decided(draft);
  }
  void command(Seconds at, const Command& c) override {
    if (request_.journal != nullptr) request_.journal->command(at, c);
  }
  void rejected(Seconds at, JobId id, const std::string& why) override {
    world_.reject(id, at);
    std::erase(endless_, id);
    if (request_.journal != nullptr) request_.journal->rejected(at, id, why);
  }
  void reason(const Reason& r) override {
    if (request_.journal != nullptr) request_.journal->reason(r);
  }

  JobId handle(const Event& e) {
    ++events_;
    return control_->handle(e);
  }
  void drain();
  void happen(const Scheduled& scheduled);
  void deliver(std::uint32_t index);
  void arrive();
  // Makes the world what the controller believes of it, and lets it decide.
  void adopt_all();
  // Takes down the services without an end of their own: all other work is done.
  void close_endless();
  void outage_begins(std::uint32_t slot);
  void node_event(const Outage& outage, EventKind kind);
  RunResult result();
  RunResult resumed_result(Seconds from);
  Summary summary_of(const std::vector<JobRecord>& records,
                     Seconds (*value)(const JobRecord&)) const;

  const SimRequest& request_;
  const SimOptions& options_;
  EventQueue queue_;
  Metrics metrics_;
  World world_;
  LossyChannel channel_;
  Estimator estimator_;
  Faults faults_;
  std::unique_ptr<ControlSide> control_;
  std::vector<Event> inbox_;  // told by the world, not yet handled
  Seconds now_ = 0;
  std::vector<Gap> gaps_;       // if the timeline is recorded
  std::vector<JobId> endless_;  // active services without an end of their own
  size_t next_arrival_ = 0;
  long events_ = 0;
};

void Engine::drain() {
  // The world may tell more while these are handled.
  for (size_t i = 0; i < inbox_.size(); ++i) {
    const Event event = inbox_[i];
    handle(event);
  }
  inbox_.clear();
}

void Engine::arrive() {
  const std::vector<TraceJob>& jobs = request_.trace->jobs;
  for (; next_arrival_ < jobs.size() && jobs[next_arrival_].submission->submit <= now_;
       ++next_arrival_) {
    const TraceJob& job = jobs[next_arrival_];
    for (std::uint32_t copy = 0; copy < options_.replicate; ++copy) {
      Event event;
      event.at = now_;
      event.kind = EventKind::kSubmit;
      event.submission = job.submission;
      event.estimate = estimator_.of(job);
      for (const LoadStep& step : job.truth.load) {
        if (step.at <= now_) event.value = step.requests_per_s;
      }
      const JobId id = handle(event);
      world_.add(id, job, now_);
      for (std::uint32_t i = 0; i < job.truth.load.size(); ++i) {
        queue_.push(std::max(now_, job.truth.load[i].at), Happening::kLoadStep, id, i);
      }
      if (job.submission->kind == WorkloadKind::kService && job.truth.service_end < kNever) {
        queue_.push(std::max(now_, job.truth.service_end), Happening::kServiceEnds, id);
      } else if (job.submission->kind == WorkloadKind::kService) {
        endless_.push_back(id);
      }
    }
  }
}

void Engine::adopt_all() {
  const Controller& controller = control_->controller();
  now_ = controller.state().now;
  for (const JobState& job : controller.state().jobs) {
    const TraceJob& traced = request_.trace->jobs[job.id];
    const bool over = job.phase == Phase::kEnded;
    world_.adopt(job.id, traced, controller.dispatch().pursuit(job.id),
                 {over, job.believed_work(now_), job.load}, now_);
    if (!over && traced.submission->kind == WorkloadKind::kService) endless_.push_back(job.id);
  }
  next_arrival_ = request_.trace->jobs.size();
}

void Engine::close_endless() {
  for (JobId id : endless_) {
    const std::vector<LoadStep>& load = request_.trace->jobs[id / options_.replicate].truth.load;
    queue_.push(load.empty() ? now_ : std::max(now_, load.back().at), Happening::kServiceEnds, id);
  }
  endless_.clear();
}

void Engine::deliver(std::uint32_t index) {
  LossyChannel::Message message = channel_.take(index);
  if (!message.to_world) {
    message.event.at = now_;
    handle(message.event);
    return;
  }
  if (message.command.kind != CommandKind::kStop) message.command.allocation = &message.allocation;
  world_.execute(message.command, channel_.refuses(), now_);
}

void Engine::node_event(const Outage& outage, EventKind kind) {
  Event event;
  event.at = now_;
  event.kind = kind;
  event.node = outage.node;
  event.device = outage.device;
  if (kind == EventKind::kNodeNotice) event.value = outage.at;
  handle(event);
}

void Engine::outage_begins(std::uint32_t slot) {
  const Outage& outage = faults_.outage(slot);
  faults_.begun(slot);
  if (options_.record_timeline) {
    gaps_.push_back({outage.node, outage.device, now_, now_ + outage.duration});
  }
  if (!world_.fail(outage.node, outage.device, now_)) return;
  drain();
  node_event(outage, EventKind::kNodeDown);
}

void Engine::happen(const Scheduled& scheduled) {
  switch (scheduled.what) {
    case Happening::kFinish:
      world_.finish_due(scheduled.subject, scheduled.detail, now_);
      break;
    case Happening::kMeasure:
      world_.measure_due(scheduled.subject, scheduled.detail, now_);
      break;
    case Happening::kOutageBegins:
      outage_begins(scheduled.subject);
      break;
    case Happening::kOutageEnds: {
      const Outage ended = faults_.outage(scheduled.subject);
      world_.restore(ended.node, ended.device);
      if (faults_.over(scheduled.subject, now_)) node_event(ended, EventKind::kNodeUp);
      break;
    }
    case Happening::kOutageNotice:
      faults_.noticed(scheduled.subject);
      node_event(faults_.outage(scheduled.subject), EventKind::kNodeNotice);
      break;
    case Happening::kLoadStep: {
      const JobId id = scheduled.subject;
      const TraceJob& job = request_.trace->jobs[id / options_.replicate];
      world_.set_load(id, job.truth.load[scheduled.detail].requests_per_s, scheduled.detail + 1,
                      now_);
      break;
    }
    case Happening::kServiceEnds:
      world_.end_service(scheduled.subject, now_);
      break;
    case Happening::kDeliver:
      deliver(scheduled.subject);
      break;
    case Happening::kRestart:
      control_->restart();
      faults_.plan_restart(now_);
      break;
  }
  drain();
}

Result<RunResult> Engine::run() {
  const std::vector<TraceJob>& jobs = request_.trace->jobs;
  const double cpu_before = thread_cpu_seconds();
  faults_.plan();
  const long total = static_cast<long>(jobs.size()) * options_.replicate;
  long turns = 0, idle_turns = 0;
  const Seconds from = now_;
  if (request_.resume) {
    control_->ask_again();
    drain();
    control_->decide(now_);
    drain();
    control_->decide(now_);
  }
  while (world_.active() > 0 || next_arrival_ < jobs.size()) {
    if (next_arrival_ == jobs.size() && world_.active() <= endless_.size()) close_endless();
    const Seconds arrival =
        next_arrival_ < jobs.size() ? jobs[next_arrival_].submission->submit : kNever;
    const Seconds next = std::min({arrival, queue_.next_at(), control_->next_wake()});
    if (next == kNever) break;
    // Nodes that fail and return for ever must not hide that nothing is ever started.
    idle_turns = world_.running() == 0 && arrival == kNever ? idle_turns + 1 : 0;
    if (idle_turns > kMaxIdleTurns) break;
    now_ = std::max(now_, next);
    const long events_before = events_;
    while (queue_.next_at() <= now_) happen(queue_.pop());
    if (arrival <= now_) {
      arrive();
      drain();
    }
    // What happened wakes it too.
    if (events_ == events_before && control_->next_wake() <= now_) {
      Event tick;
      tick.at = now_;
      handle(tick);
    }
    control_->decide(now_);
    drain();
    control_->decide(now_);  // only if a refusal came back at once
    const std::uint32_t waiting = world_.active() - world_.running();
    const double busy = world_.busy_devices();
    metrics_.now(now_, world_.active(), waiting, busy,
                 waiting > 0 ? request_.cluster->device_count() - busy : 0);
    ++turns;
    if (request_.stop && (turns & 0xf) == 0 && request_.stop()) break;
    if (request_.progress && (turns & 0xffff) == 0) {
      request_.progress(now_,
                        total - static_cast<long>(world_.active()) -
                            static_cast<long>(jobs.size() - next_arrival_) * options_.replicate,
                        total);
    }
  }
  if (request_.resume) return resumed_result(from);
  if (world_.active() > 0) return stuck_error(control_->controller().state(), *request_.policy);
  RunResult out = result();
  out.cpu_s = thread_cpu_seconds() - cpu_before;
  return out;
}

// Over the jobs that ran and are no services; values of kNever do not count. One value after the
// other, because a column of a million jobs is not kept longer than needed.
Summary Engine::summary_of(const std::vector<JobRecord>& records,
                           Seconds (*value)(const JobRecord&)) const {
  std::vector<double> values;
  values.reserve(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    const Submission& spec = *request_.trace->jobs[i / options_.replicate].submission;
    if (records[i].rejected || spec.kind == WorkloadKind::kService) continue;
    if (const Seconds v = value(records[i]); v < kNever) values.push_back(v);
  }
  return summarize(std::move(values));
}

RunResult Engine::resumed_result(Seconds from) {
  RunResult out;
  out.records = std::move(world_.records());
  out.unfinished = static_cast<long>(world_.active());
  out.makespan_s = now_ - from;
  return out;
}

RunResult Engine::result() {
  RunResult out;
  Seconds first = kNever, last = 0;
  out.records = std::move(world_.records());
  for (size_t i = 0; i < out.records.size(); ++i) {
    const JobRecord& record = out.records[i];
    const Submission& spec = *request_.trace->jobs[i / options_.replicate].submission;
    first = std::min(first, record.submit);
    if (record.rejected) {
      ++out.rejected;
      continue;
    }
    last = std::max(last, record.end);
    out.restarts += record.restarts;
    out.lost_gpu_hours += record.lost_work_s * spec.requested().devices / kHour;
    if (spec.deadline < kNever) {
      ++out.with_deadline;
      out.deadline_misses += record.missed_deadline;
    }
  }
  out.policy = request_.policy->name();
  out.cluster = request_.cluster->text;
  out.estimates = options_.estimates.text();
  out.seed = options_.seed;
  out.jobs = static_cast<long>(out.records.size());
  out.jct_s = summary_of(out.records, [](const JobRecord& r) { return r.end - r.submit; });
  out.queue_s =
      summary_of(out.records, [](const JobRecord& r) { return r.end - r.submit - r.run_s; });
  out.rho = summary_of(out.records, [](const JobRecord& r) { return r.rho > 0 ? r.rho : kNever; });
  out.makespan_s = out.records.empty() ? 0 : last - first;
  world_.sum_up_network(out);
  out.events = events_;
  out.decisions = static_cast<long>(control_->controller().decisions());
  const DurationHistogram& latency = control_->controller().decision_latency();
  out.decision_p50_s = latency.percentile_s(50);
  out.decision_p99_s = latency.percentile_s(99);
  out.decision_max_s = latency.percentile_s(100);
  out.served = world_.requests() > 0 ? world_.served() / world_.requests() : 1;
  out.peak_rss_bytes = peak_rss_bytes();
  metrics_.finish(out.makespan_s, out);
  out.timeline = std::move(world_.timeline());
  out.gaps = std::move(gaps_);
  return out;
}

}  // namespace

Result<RunResult> simulate(const SimRequest& request) {
  if (!request.resume) {
    const Status status = check_feasible(*request.cluster, *request.trace);
    if (!status.ok()) return status.error();
  }
  return Engine(request).run();
}

}  // namespace weft

#include "timing/iteration/sim.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <set>
#include <tuple>

#include "base/check.h"
#include "fabric/flow_sim.h"

namespace weft {
namespace {

using NodeKind = ProgramNode::Kind;
constexpr std::uint32_t kRanksPerJob = 1u << 16;
// With weights by progress, a flow's weight is set anew this often in an iteration.
constexpr double kProgressSteps = 64;

struct WireState {
  CreditWindow credit{kNoLimit};
  std::set<std::tuple<double, std::uint64_t, std::uint32_t>> waiting;  // key, arrival, node
  std::deque<std::uint32_t> queue;                                     // taken, not yet begun
  bool busy = false;
};

struct JobState {
  Program program;
  std::vector<std::uint32_t> missing;
  std::vector<double> left;                    // by node: bytes not yet given to the network
  std::vector<IterationSpan> spans;            // by node, of this iteration
  std::vector<std::set<std::uint32_t>> ready;  // by device
  std::vector<bool> device_busy;
  std::vector<WireState> wires;
  std::size_t unfinished = 0;
  double sent = 0;  // wire bytes of this iteration
};

enum class Step : std::uint8_t { kBegin, kComputed, kReadied, kArrived };

struct Timer {
  Seconds at;
  std::uint64_t number;
  Step step;
  std::uint32_t job, node;
  bool operator>(const Timer& other) const {
    return std::tie(at, number) > std::tie(other.at, other.number);
  }
};

class Simulator {
 public:
  Simulator(std::span<const double> links, std::span<const IterationSetting> settings,
            const IterationLimits& limits)
      : settings_(settings), limits_(limits), network_({links.begin(), links.end()}) {
    for (std::uint32_t j = 0; j < settings.size(); ++j) {
      JobState& job = jobs_.emplace_back();
      job.program = make_program(*settings[j].graph, settings[j].plan);
      job.ready.resize(settings[j].graph->devices.size());
      job.device_busy.resize(job.ready.size());
      job.wires.resize(settings[j].graph->wires.size());
      for (WireState& wire : job.wires) wire.credit = CreditWindow(job.program.credit_bytes);
      run_.jobs.push_back({settings[j].start + settings[j].shift.delay, {}});
      set_timer(run_.jobs[j].start, Step::kBegin, j, 0);
    }
  }

  IterationRun run() {
    std::vector<FlowId> ended;
    while (!done()) {
      const Seconds timer = timers_.empty() ? kNever : timers_.top().at;
      const Seconds at = std::min(timer, network_.next_end());
      CHECK_MSG(at < kNever, "every iteration goes on");
      now_ = std::max(now_, at);
      network_.advance_to(at, ended);
      // Looked up first: a flow started on the way may get the id of one that has ended.
      std::vector<std::pair<std::uint32_t, std::uint32_t>> messages;
      for (FlowId flow : ended) messages.push_back(flows_[flow]);
      for (const auto& [job, node] : messages) flow_ended(job, node);
      while (!timers_.empty() && timers_.top().at <= now_) {
        const Timer next = timers_.top();
        timers_.pop();
        fire(next);
      }
    }
    return std::move(run_);
  }

 private:
  bool done() const {
    bool all = true;
    for (const IterationResult& job : run_.jobs) {
      if (job.ends.size() >= std::size_t{limits_.iterations} * limits_.patience) return true;
      all = all && job.ends.size() >= limits_.iterations;
    }
    return all;
  }

  void set_timer(Seconds at, Step step, std::uint32_t job, std::uint32_t node) {
    timers_.push({at, number_++, step, job, node});
  }

  void fire(const Timer& timer) {
    switch (timer.step) {
      case Step::kBegin:
        return begin_iteration(timer.job);
      case Step::kComputed:
        jobs_[timer.job].device_busy[node(timer).place] = false;
        record(timer.job, timer.node);
        return finish(timer.job, timer.node);
      case Step::kReadied:
        jobs_[timer.job].spans[timer.node].data = now_;
        return send(timer.job, timer.node);
      case Step::kArrived:
        jobs_[timer.job].wires[node(timer).place].credit.give(node(timer).tensor_bytes);
        return finish(timer.job, timer.node);
    }
  }
  const ProgramNode& node(const Timer& timer) const {
    return jobs_[timer.job].program.nodes[timer.node];
  }

  void begin_iteration(std::uint32_t j) {
    JobState& job = jobs_[j];
    const auto& nodes = job.program.nodes;
    job.sent = 0;
    job.unfinished = nodes.size();
    job.missing.resize(nodes.size());
    job.left.resize(nodes.size());
    job.spans.assign(nodes.size(), {});
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      job.missing[i] = nodes[i].missing;
      job.left[i] = nodes[i].amount;
    }
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].missing == 0) make_ready(j, i);
    }
    start_work(j);
  }

  void make_ready(std::uint32_t j, std::uint32_t i) {
    JobState& job = jobs_[j];
    const ProgramNode& node = job.program.nodes[i];
    if (node.kind == NodeKind::kCompute) job.ready[node.place].insert(i);
    if (node.kind == NodeKind::kMessage) {
      job.wires[node.place].waiting.insert({node.key, number_++, i});
    }
    if (node.kind == NodeKind::kJoin) mark_done(j, i);
  }

  // Joins end where they begin, so their users may become ready in turn.
  void mark_done(std::uint32_t j, std::uint32_t i) {
    --jobs_[j].unfinished;
    for (std::uint32_t user : jobs_[j].program.nodes[i].users) {
      if (--jobs_[j].missing[user] == 0) make_ready(j, user);
    }
  }

  void finish(std::uint32_t j, std::uint32_t i) {
    mark_done(j, i);
    if (jobs_[j].unfinished > 0) return start_work(j);
    std::vector<Seconds>& ends = run_.jobs[j].ends;
    ends.push_back(now_);
    const IterationSetting& setting = settings_[j];
    const Seconds held = setting.start + setting.shift.delay +
                         static_cast<double>(ends.size()) * setting.shift.period;
    set_timer(setting.shift.period > 0 ? std::max(now_, held) : now_, Step::kBegin, j, 0);
  }

  // Gives idle devices and wires what is ready.
  void start_work(std::uint32_t j) {
    JobState& job = jobs_[j];
    for (std::size_t d = 0; d < job.ready.size(); ++d) {
      if (job.device_busy[d] || job.ready[d].empty()) continue;
      const std::uint32_t i = *job.ready[d].begin();
      job.ready[d].erase(job.ready[d].begin());
      job.device_busy[d] = true;
      job.spans[i].begin = job.spans[i].data = now_;
      set_timer(now_ + job.program.nodes[i].amount, Step::kComputed, j, i);
    }
    for (WireState& wire : job.wires) {
      while (!wire.waiting.empty()) {
        const std::uint32_t i = std::get<2>(*wire.waiting.begin());
        if (!wire.credit.admits(job.program.nodes[i].tensor_bytes)) break;
        wire.credit.take(job.program.nodes[i].tensor_bytes);
        wire.waiting.erase(wire.waiting.begin());
        wire.queue.push_back(i);
      }
      start_wire(j, wire);
    }
  }

  void start_wire(std::uint32_t j, WireState& wire) {
    JobState& job = jobs_[j];
    while (!wire.queue.empty() && (job.program.concurrent || !wire.busy)) {
      const std::uint32_t i = wire.queue.front();
      wire.queue.pop_front();
      wire.busy = true;
      job.spans[i].begin = now_;
      const Seconds overhead = settings_[j].graph->wires[job.program.nodes[i].place].overhead;
      set_timer(now_ + overhead, Step::kReadied, j, i);
    }
  }

  // Hands the message, or with weights by progress its next part, to the network.
  void send(std::uint32_t j, std::uint32_t i) {
    JobState& job = jobs_[j];
    const IterationSetting& setting = settings_[j];
    const ProgramNode& node = job.program.nodes[i];
    StreamSpec spec;
    spec.path = setting.graph->wires[node.place].path;
    spec.rank = setting.rate.rank * kRanksPerJob + std::min(node.rank, kRanksPerJob - 1);
    spec.cap = setting.rate.cap;
    spec.weight = setting.rate.weight;
    double bytes = job.left[i];
    if (setting.by_progress) {
      spec.weight *= progress_weight(job.sent / job.program.wire_bytes);
      const double step = job.program.wire_bytes / kProgressSteps;
      if (bytes > 1.5 * step) bytes = step;
    }
    job.left[i] -= bytes;
    job.sent += bytes;
    const FlowId flow = network_.start(spec, bytes);
    if (flow >= flows_.size()) flows_.resize(flow + std::size_t{1});
    flows_[flow] = {j, i};
  }

  void flow_ended(std::uint32_t j, std::uint32_t i) {
    JobState& job = jobs_[j];
    if (job.left[i] > 0) return send(j, i);
    const ProgramNode& node = job.program.nodes[i];
    WireState& wire = job.wires[node.place];
    record(j, i);
    set_timer(now_ + settings_[j].graph->wires[node.place].latency, Step::kArrived, j, i);
    wire.busy = false;
    start_wire(j, wire);
  }

  void record(std::uint32_t j, std::uint32_t i) {
    if (!limits_.record) return;
    const ProgramNode& node = jobs_[j].program.nodes[i];
    IterationSpan span = jobs_[j].spans[i];
    span.job = j;
    span.op = node.op;
    span.iteration = static_cast<std::uint32_t>(run_.jobs[j].ends.size());
    span.end = now_;
    span.wire_bytes = node.kind == NodeKind::kMessage ? node.amount : 0;
    run_.spans.push_back(span);
  }

  std::span<const IterationSetting> settings_;
  IterationLimits limits_;
  FlowSim network_;
  std::vector<JobState> jobs_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> flows_;  // job, node
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::uint64_t number_ = 0;
  Seconds now_ = 0;
  IterationRun run_;
};

}  // namespace

IterationRun simulate_iterations(std::span<const double> link_bytes_per_s,
                                 std::span<const IterationSetting> jobs,
                                 const IterationLimits& limits) {
  CHECK(!jobs.empty() && limits.iterations >= 1);
  return Simulator(link_bytes_per_s, jobs, limits).run();
}

Seconds steady_iteration(const IterationResult& job) {
  if (job.ends.size() < 2) return kNever;
  const std::size_t from = (job.ends.size() - 1) / 2;
  return (job.ends.back() - job.ends[from]) / static_cast<double>(job.ends.size() - 1 - from);
}

}  // namespace weft

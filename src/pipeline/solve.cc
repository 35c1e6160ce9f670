#include "pipeline/solve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "pipeline/memory.h"

namespace weft::pipeline {
namespace {

constexpr double kNotYet = -1;

// Runs every device until it waits, and wakes it when what it waits for has ended.
class Solver {
 public:
  Solver(const Schedule& schedule, const Index& index)
      : s_(schedule),
        x_(index),
        begin_(index.ops.size(), kNotYet),
        end_(index.ops.size(), kNotYet),
        waiter_(index.ops.size(), kNone),
        at_(index.first.begin(), index.first.end() - 1),
        clock_(at_.size(), 0),
        lane_(at_.size(), 0),
        offloaded_(at_.size(), 0),
        next_waiter_(at_.size(), kNone),
        waits_for_(at_.size(), kNone) {
    if (!s_.listed_transfers) {
      forward_arrival_.resize(s_.works());
      backward_arrival_.resize(s_.works());
    }
  }

  Result<Timeline> run() {
    for (std::size_t d = at_.size(); d-- > 0;) awake_.push_back(static_cast<std::int32_t>(d));
    while (!awake_.empty()) {
      const auto d = static_cast<std::size_t>(awake_.back());
      awake_.pop_back();
      advance(d);
    }
    for (std::size_t d = 0; d < at_.size(); ++d) {
      if (at_[d] != x_.first[d + 1]) return deadlock(d);
    }
    return timeline();
  }

 private:
  const Op& op(std::int32_t o) const { return *x_.ops[static_cast<std::size_t>(o)]; }
  double end(std::int32_t o) const { return end_[static_cast<std::size_t>(o)]; }

  void advance(std::size_t d) {
    while (at_[d] != x_.first[d + 1]) {
      const std::int32_t o = at_[d];
      double ready = clock_[d];
      const std::int32_t missing = find_missing(d, o, ready);
      if (missing != kNone) {
        waits_for_[d] = missing;
        next_waiter_[d] = waiter_[static_cast<std::size_t>(missing)];
        waiter_[static_cast<std::size_t>(missing)] = static_cast<std::int32_t>(d);
        return;
      }
      execute(d, o, ready);
      ++at_[d];
      for (std::int32_t w = waiter_[static_cast<std::size_t>(o)]; w != kNone;
           w = next_waiter_[static_cast<std::size_t>(w)]) {
        awake_.push_back(w);
      }
    }
  }

  // An operation that must end first and has not, or kNone; then `ready` is when all have.
  std::int32_t find_missing(std::size_t d, std::int32_t o, double& ready) const {
    const Op& one = op(o);
    std::int32_t missing = kNone;
    const auto need = [&](std::int32_t before, double arrival) {
      if (before == kNone) return;
      if (end(before) == kNotYet) missing = before;
      ready = std::max(ready, arrival);
    };
    const auto pass = [&](const Work& work, int step, const std::vector<std::int32_t>& passes,
                          const std::vector<double>& arrivals) {
      const Work from{work.micro_batch, work.chunk + step, work.slice};
      if (from.chunk < 0 || from.chunk >= s_.chunks) return;
      const std::size_t n = s_.number(from);
      if (s_.device(from) == static_cast<int>(d)) {
        need(passes[n], end(passes[n]));
      } else if (!s_.listed_transfers) {
        need(passes[n], arrivals[n]);
      }
    };
    if (runs_forward(one.kind)) pass(one.work, -1, x_.forward, forward_arrival_);
    if (runs_backward(one.kind)) {
      const Work& work = backward_work(one);
      pass(work, 1, x_.backward, backward_arrival_);
      const std::int32_t reload = x_.reload[s_.number(work)];
      if (reload != kNone) need(reload, end(reload));
    }
    if (one.kind == Kind::kReceive) {
      const std::int32_t send = x_.mate[static_cast<std::size_t>(o)];
      need(send, end(send));
    }
    if (one.kind == Kind::kRecompute) {
      const std::int32_t reload = x_.reload[s_.number(one.work)];
      if (reload != kNone) need(reload, end(reload));
    }
    if (one.kind == Kind::kOptimizer) need_sharers(d, o, need);
    return missing;
  }

  // Everybody who holds the same chunks must have come as far: their gradients are added up.
  template <typename Need>
  void need_sharers(std::size_t d, std::int32_t o, Need need) const {
    const auto& mine = x_.optimizers[d];
    const auto k =
        static_cast<std::size_t>(std::lower_bound(mine.begin(), mine.end(), o) - mine.begin());
    for (const int sharer : x_.sharers[d]) {
      const auto other = static_cast<std::size_t>(sharer);
      if (k >= x_.optimizers[other].size()) continue;
      const std::int32_t before = x_.optimizers[other][k] - 1;
      if (before >= x_.first[other]) need(before, end(before));
    }
  }

  void execute(std::size_t d, std::int32_t o, double ready) {
    const Op& one = op(o);
    double begin = ready;
    const bool takes_memory = runs_forward(one.kind) || one.kind == Kind::kRecompute;
    if (takes_memory) begin = std::max(begin, offloaded_[d]);
    if (one.kind == Kind::kOffload || one.kind == Kind::kReload) {
      begin = std::max({begin, lane_[d], one.kind == Kind::kReload ? offloaded_[d] : 0});
      lane_[d] = begin + one.seconds;
      if (one.kind == Kind::kOffload) offloaded_[d] = lane_[d];
    } else if (one.kind == Kind::kSend) {
      double& link = links_[{static_cast<int>(d), one.peer}];
      begin = std::max(begin, link);
      link = begin + one.seconds;
    } else if (one.kind == Kind::kReceive) {
      clock_[d] = begin;
    } else {
      clock_[d] = begin + one.seconds;
    }
    begin_[static_cast<std::size_t>(o)] = begin;
    end_[static_cast<std::size_t>(o)] = one.kind == Kind::kReceive ? begin : begin + one.seconds;
    if (!s_.listed_transfers) send_on(d, one, begin + one.seconds);
  }

  void send_on(std::size_t d, const Op& one, double now) {
    if (runs_forward(one.kind)) transfer(d, one.work, 1, now, forward_arrival_);
    if (runs_backward(one.kind)) transfer(d, backward_work(one), -1, now, backward_arrival_);
  }

  void transfer(std::size_t d, const Work& work, int step, double now,
                std::vector<double>& arrivals) {
    const Work next{work.micro_batch, work.chunk + step, work.slice};
    if (next.chunk < 0 || next.chunk >= s_.chunks) return;
    double& arrival = arrivals[s_.number(work)];
    arrival = now;
    const int peer = s_.device(next);
    if (peer == static_cast<int>(d) || s_.transfer_seconds.empty()) return;
    double& link = links_[{static_cast<int>(d), peer}];
    link = std::max(link, now) +
           s_.transfer_seconds[static_cast<std::size_t>(std::min(work.chunk, next.chunk))];
    arrival = link;
  }

  Error deadlock(std::size_t d) const {
    // Every waiter waits for a device that waits, so following them ends in a circle.
    std::vector<bool> seen(at_.size());
    while (!seen[d]) {
      seen[d] = true;
      d = static_cast<std::size_t>(x_.device[static_cast<std::size_t>(waits_for_[d])]);
    }
    std::string circle;
    const std::size_t first = d;
    do {
      const std::int32_t o = at_[d];
      circle +=
          fmt::format("{}device {}, operation {} ({}) waits for {}", circle.empty() ? "" : "; ", d,
                      o - x_.first[d], describe(s_, op(o)), describe(s_, op(waits_for_[d])));
      d = static_cast<std::size_t>(x_.device[static_cast<std::size_t>(waits_for_[d])]);
    } while (d != first && circle.size() < 600);
    return {ErrorKind::kInvalidInput, "deadlock: " + circle, ""};
  }

  Timeline timeline() const {
    std::vector<std::vector<Span>> spans(at_.size());
    for (std::size_t o = 0; o < end_.size(); ++o) {
      spans[static_cast<std::size_t>(x_.device[o])].push_back({begin_[o], end_[o]});
    }
    return summarize(s_, x_, std::move(spans));
  }

  const Schedule& s_;
  const Index& x_;
  std::vector<double> begin_, end_;   // per operation
  std::vector<std::int32_t> waiter_;  // per operation: first device that waits for it
  std::vector<std::int32_t> at_;      // per device: the operation it is at
  std::vector<double> clock_;         // per device: free for computing
  std::vector<double> lane_;          // per device: free for offload and reload
  std::vector<double> offloaded_;     // per device: what was given away is gone
  std::vector<std::int32_t> next_waiter_, waits_for_;       // per device
  std::vector<double> forward_arrival_, backward_arrival_;  // per work, at the next chunk
  std::map<std::pair<int, int>, double> links_;             // free from
  std::vector<std::int32_t> awake_;
};

}  // namespace

Timeline summarize(const Schedule& s, const Index& index, std::vector<std::vector<Span>> spans) {
  Timeline t;
  double busy = 0, span_idle = 0, span = 0;
  for (const auto& list : spans) {
    for (const Span& one : list) t.makespan = std::max(t.makespan, one.end);
  }
  for (std::size_t d = 0; d < spans.size(); ++d) {
    double mine = 0, joules = 0, from = std::numeric_limits<double>::infinity(), until = 0;
    for (std::size_t i = 0; i < spans[d].size(); ++i) {
      const Op& op = s.programs[d][i];
      joules += op.joules;
      if (!computes(op.kind)) continue;
      mine += op.seconds;
      from = std::min(from, spans[d][i].begin);
      until = std::max(until, spans[d][i].end);
    }
    t.busy.push_back(mine);
    t.idle.push_back(std::max(0.0, t.makespan - mine));
    t.span_idle.push_back(std::max(0.0, until - from - mine));
    t.joules.push_back(joules + s.idle_watts * t.idle.back());
    t.total_joules += t.joules.back();
    busy += mine;
    span += std::max(0.0, until - from);
    span_idle += t.span_idle.back();
  }
  const double all = t.makespan * static_cast<double>(spans.size());
  t.idle_fraction = all > 0 ? std::max(0.0, 1 - busy / all) : 0;
  t.span_idle_fraction = span > 0 ? span_idle / span : 0;
  t.peak_activations = pipeline::peak_activations(s, index, spans);
  t.spans = std::move(spans);
  return t;
}

Result<Timeline> solve(const Schedule& schedule, const Index& index) {
  return Solver(schedule, index).run();
}

Result<Timeline> solve(const Schedule& schedule) {
  const Result<Index> index = index_schedule(schedule);
  if (!index.ok()) return index.error();
  return solve(schedule, *index);
}

}  // namespace weft::pipeline

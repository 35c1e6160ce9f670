#include "timing/iteration/graph.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace weft {
namespace {

// Runs the graph with instant transfers.
class ComputeOnly {
 public:
  explicit ComputeOnly(const IterationGraph& graph)
      : graph_(graph),
        missing_(graph.ops.size()),
        users_(graph.ops.size()),
        ready_(graph.devices.size()),
        busy_(graph.devices.size()) {
    times_.begin.resize(graph.ops.size());
    times_.end.resize(graph.ops.size());
  }

  OpTimes run() {
    for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
      const IterationOp& op = graph_.ops[i];
      for (std::uint32_t need : op.needs) users_[need].push_back(i);
      if (op.follows != kNoOp) users_[op.follows].push_back(i);
      missing_[i] = op.needs.size() + (op.follows != kNoOp ? 1 : 0);
    }
    for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
      if (missing_[i] == 0) make_ready(i);
    }
    start_devices();
    while (!ends_.empty()) {
      now_ = ends_.top().first;
      while (!ends_.empty() && ends_.top().first == now_) {
        const std::uint32_t i = ends_.top().second;
        ends_.pop();
        busy_[graph_.ops[i].place] = false;
        finish(i);
      }
      start_devices();
    }
    times_.all = now_;
    return std::move(times_);
  }

 private:
  void make_ready(std::uint32_t i) {
    if (graph_.ops[i].is_transfer) {
      times_.begin[i] = now_;
      finish(i);
    } else {
      ready_[graph_.ops[i].place].push(i);
    }
  }
  void finish(std::uint32_t i) {
    times_.end[i] = now_;
    for (std::uint32_t user : users_[i]) {
      if (--missing_[user] == 0) make_ready(user);
    }
  }
  void start_devices() {
    for (std::size_t d = 0; d < ready_.size(); ++d) {
      if (busy_[d] || ready_[d].empty()) continue;
      const std::uint32_t i = ready_[d].top();
      ready_[d].pop();
      busy_[d] = true;
      times_.begin[i] = now_;
      ends_.push({now_ + graph_.ops[i].amount, i});
    }
  }

  using End = std::pair<Seconds, std::uint32_t>;
  const IterationGraph& graph_;
  OpTimes times_;
  Seconds now_ = 0;
  std::vector<std::size_t> missing_;
  std::vector<std::vector<std::uint32_t>> users_;
  std::vector<std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>>
      ready_;
  std::vector<bool> busy_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace

OpTimes compute_only_times(const IterationGraph& graph) { return ComputeOnly(graph).run(); }

std::vector<Seconds> first_use(const IterationGraph& graph) {
  const OpTimes times = compute_only_times(graph);
  std::vector<Seconds> use(graph.ops.size(), kNever);
  // Backwards, so that what follows a transfer has its answer before the transfer itself.
  for (std::uint32_t i = static_cast<std::uint32_t>(graph.ops.size()); i-- > 0;) {
    const IterationOp& op = graph.ops[i];
    if (op.follows != kNoOp) use[op.follows] = std::min(use[op.follows], use[i]);
    for (std::uint32_t need : op.needs) {
      if (graph.ops[need].is_transfer) {
        use[need] = std::min(use[need], op.is_transfer ? use[i] : times.begin[i]);
      }
    }
  }
  return use;
}

double compute_seconds(const IterationGraph& graph) {
  double sum = 0;
  for (const IterationOp& op : graph.ops) sum += op.is_transfer ? 0 : op.amount;
  return sum;
}

}  // namespace weft

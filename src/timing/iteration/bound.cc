#include "timing/iteration/bound.h"

#include <algorithm>
#include <queue>

#include "base/check.h"

namespace weft {
namespace {

// Arrows from each op to those that wait for it, or reversed.
using Arrows = std::vector<std::vector<std::uint32_t>>;

// For every op, the largest work of one device among the ops that its arrows reach.
std::vector<Seconds> reached_work(const IterationGraph& graph, const Arrows& arrows,
                                  bool ascending) {
  const std::size_t n = graph.ops.size(), words = (n + 63) / 64;
  std::vector<std::uint64_t> reached(n * words);
  std::vector<Seconds> most(n), by_device(graph.devices.size());
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t i = ascending ? step : n - 1 - step;
    std::uint64_t* const own = &reached[i * words];
    for (std::uint32_t other : arrows[i]) {
      own[other / 64] |= std::uint64_t{1} << (other % 64);
      for (std::size_t w = 0; w < words; ++w) own[w] |= reached[other * words + w];
    }
    std::fill(by_device.begin(), by_device.end(), 0.0);
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = own[w]; bits != 0; bits &= bits - 1) {
        const IterationOp& op = graph.ops[64 * w + static_cast<std::size_t>(__builtin_ctzll(bits))];
        if (!op.is_transfer) by_device[op.place] += op.amount;
      }
    }
    for (Seconds sum : by_device) most[i] = std::max(most[i], sum);
  }
  return most;
}

class Bound {
 public:
  explicit Bound(const IterationGraph& graph) : graph_(graph), before_(size()), after_(size()) {
    for (std::uint32_t i = 0; i < size(); ++i) {
      before_[i] = graph.ops[i].needs;
      if (graph.ops[i].follows != kNoOp) before_[i].push_back(graph.ops[i].follows);
      for (std::uint32_t other : before_[i]) after_[other].push_back(i);
    }
    find_heads();
    find_tails();
  }

  Seconds largest(std::span<const double> link_bytes_per_s) const {
    Seconds bound = 0;
    std::vector<HeadTail> work;
    for (std::uint32_t device = 0; device < graph_.devices.size(); ++device) {
      work.clear();
      for (std::uint32_t i = 0; i < size(); ++i) {
        const IterationOp& op = graph_.ops[i];
        if (!op.is_transfer && op.place == device) work.push_back({head_[i], op.amount, tail_[i]});
      }
      bound = std::max(bound, preemptive_makespan(work));
    }
    for (LinkId link = 0; link < link_bytes_per_s.size(); ++link) {
      work.clear();
      for (std::uint32_t i = 0; i < size(); ++i) {
        if (!crosses(i, link)) continue;
        work.push_back({head_[i], wire_bytes(i) / link_bytes_per_s[link], tail_[i]});
      }
      bound = std::max(bound, preemptive_makespan(work));
    }
    return bound;
  }

 private:
  std::size_t size() const { return graph_.ops.size(); }
  const IterationWire& wire(std::uint32_t i) const { return graph_.wires[graph_.ops[i].place]; }
  double wire_bytes(std::uint32_t i) const { return graph_.ops[i].amount * wire(i).factor; }
  bool crosses(std::uint32_t i, LinkId link) const {
    if (!graph_.ops[i].is_transfer) return false;
    const auto& path = wire(i).path;
    return std::find(path.begin(), path.end(), link) != path.end();
  }
  Seconds overhead(std::uint32_t i) const {
    return graph_.ops[i].is_transfer ? wire(i).overhead : 0;
  }
  Seconds latency(std::uint32_t i) const { return graph_.ops[i].is_transfer ? wire(i).latency : 0; }
  Seconds duration(std::uint32_t i) const {
    return graph_.ops[i].is_transfer ? wire_bytes(i) / wire(i).bytes_per_s : graph_.ops[i].amount;
  }

  void find_heads() {
    head_ = reached_work(graph_, before_, true);
    for (std::uint32_t i = 0; i < size(); ++i) {
      for (std::uint32_t need : graph_.ops[i].needs) {
        head_[i] = std::max(head_[i], head_[need] + duration(need) + latency(need));
      }
      const std::uint32_t leader = graph_.ops[i].follows;
      if (leader != kNoOp) head_[i] = std::max(head_[i], head_[leader] + latency(leader));
      head_[i] += overhead(i);
    }
  }

  void find_tails() {
    tail_ = reached_work(graph_, after_, false);
    for (std::uint32_t i = static_cast<std::uint32_t>(size()); i-- > 0;) {
      for (std::uint32_t user : after_[i]) {
        const bool follower = graph_.ops[user].follows == i;
        tail_[i] =
            std::max(tail_[i], overhead(user) + (follower ? 0 : duration(user)) + tail_[user]);
      }
      tail_[i] += latency(i);
    }
  }

  const IterationGraph& graph_;
  Arrows before_, after_;
  std::vector<Seconds> head_, tail_;
};

}  // namespace

Seconds preemptive_makespan(std::span<const HeadTail> work) {
  std::vector<std::uint32_t> order(work.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return work[a].head < work[b].head; });
  std::priority_queue<std::pair<Seconds, std::uint32_t>> ready;  // by tail
  std::vector<Seconds> left(work.size());
  Seconds now = 0, makespan = 0;
  std::size_t next = 0;
  while (next < order.size() || !ready.empty()) {
    if (ready.empty()) now = std::max(now, work[order[next]].head);
    while (next < order.size() && work[order[next]].head <= now) {
      left[order[next]] = work[order[next]].work;
      ready.push({work[order[next]].tail, order[next]});
      ++next;
    }
    const auto [tail, i] = ready.top();
    const Seconds until = next < order.size() ? work[order[next]].head : kNever;
    if (now + left[i] <= until) {
      now += left[i];
      makespan = std::max(makespan, now + tail);
      ready.pop();
    } else {
      left[i] -= until - now;
      now = until;
    }
  }
  return makespan;
}

Seconds ideal_iteration(const IterationGraph& graph, std::span<const double> link_bytes_per_s) {
  return graph.ops.empty() ? 0 : Bound(graph).largest(link_bytes_per_s);
}

}  // namespace weft

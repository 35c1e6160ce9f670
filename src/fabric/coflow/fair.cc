#include "fabric/coflow/fair.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "base/check.h"
#include "fabric/flow_sim.h"

namespace weft {
namespace {

// With more ports the table of pairs costs more than it saves (512: some 20 MB).
constexpr std::uint32_t kMostTablePorts = 512;

class Fair {
 public:
  Fair(const CoflowTrace& trace, const CoflowOptions& options, CoflowRun& run)
      : trace_(trace),
        options_(options),
        run_(run),
        pairs_(std::size_t{trace.ports} * trace.ports) {
    Bundle& b = bundle_;
    b.rows = b.columns = trace.ports;
    b.links.resize(2 * std::size_t{trace.ports});
    std::iota(b.links.begin(), b.links.end(), 0u);
    b.bytes.assign(pairs_.size(), 0);
    recount(b);
    flows_left_.assign(trace.coflows.size(), 0);
  }

  void run() {
    while (next_ < trace_.coflows.size() || bundle_.flows_left > 0) {
      const Seconds arrival =
          next_ < trace_.coflows.size() ? trace_.coflows[next_].arrival : kNever;
      const Seconds now = std::min(first_end(bundle_), arrival);
      CHECK_MSG(now < kNever, "flows wait and nothing moves");
      ++run_.events;
      ended_.clear();
      advance(bundle_, now, ended_);
      for (std::uint32_t pair : ended_) end_flows(pair, now);
      for (; next_ < trace_.coflows.size() && trace_.coflows[next_].arrival <= now; ++next_)
        start();
      share();
    }
  }

 private:
  // The flows of one pair: a heap by the bytes that each of the pair's flows has moved when the
  // flow ends.
  struct Flow {
    double end;
    std::uint32_t coflow;
    bool operator>(const Flow& other) const {
      return end != other.end ? end > other.end : coflow > other.coflow;
    }
  };

  void share() {
    room_.assign(bundle_.links.size(), options_.bytes_per_s);
    give_max_min(bundle_, BundleFill::kEqual, room_, scratch_);
    if (options_.watch) options_.watch(bundle_.since, {&bundle_});
  }

  void set(std::size_t pair, double left) {
    set_flow(bundle_, static_cast<std::uint32_t>(pair / trace_.ports),
             static_cast<std::uint32_t>(pair % trace_.ports), left,
             static_cast<double>(pairs_[pair].size()));
  }

  void end_flows(std::uint32_t pair, Seconds now) {
    std::vector<Flow>& flows = pairs_[pair];
    const double moved = flows.front().end;
    while (!flows.empty() && flows.front().end < moved + kDoneBytes) {
      ++run_.flows;
      const std::uint32_t coflow = flows.front().coflow;
      if (--flows_left_[coflow] == 0) run_.coflows[coflow].end = now;
      std::pop_heap(flows.begin(), flows.end(), std::greater<>());
      flows.pop_back();
    }
    if (!flows.empty()) set(pair, flows.front().end - moved);
  }

  void start() {
    const Coflow& coflow = trace_.coflows[next_];
    for (std::size_t k = 0; k < coflow.bytes.size(); ++k) {
      if (coflow.bytes[k] < kDoneBytes) continue;
      const PortId from = coflow.sources[k / coflow.targets.size()];
      const PortId to = coflow.targets[k % coflow.targets.size()];
      const std::size_t pair = std::size_t{from} * trace_.ports + to;
      std::vector<Flow>& flows = pairs_[pair];
      const double moved = flows.empty() ? 0 : flows.front().end - bundle_.left(from, to);
      flows.push_back({moved + coflow.bytes[k], next_});
      std::push_heap(flows.begin(), flows.end(), std::greater<>());
      set(pair, flows.front().end - moved);
      ++flows_left_[next_];
      run_.bytes += coflow.bytes[k];
    }
  }

  const CoflowTrace& trace_;
  const CoflowOptions& options_;
  CoflowRun& run_;
  std::vector<std::vector<Flow>> pairs_;
  std::vector<std::uint32_t> flows_left_;  // by coflow
  Bundle bundle_;
  PortRoom room_;
  FillScratch scratch_;
  std::vector<std::uint32_t> ended_;
  std::uint32_t next_ = 0;
};

}  // namespace

void run_fair_flows(const CoflowTrace& trace, const CoflowOptions& options, CoflowRun& run) {
  if (trace.ports > kMostTablePorts) {
    run_fair_in_flow_sim(trace, options, run);
  } else {
    Fair(trace, options, run).run();
  }
}

void run_fair_in_flow_sim(const CoflowTrace& trace, const CoflowOptions& options, CoflowRun& run) {
  FlowSim sim(std::vector<double>(2 * std::size_t{trace.ports}, options.bytes_per_s));
  std::vector<std::uint32_t> coflow_of, flows_left(trace.coflows.size());
  std::vector<FlowId> ended;
  std::size_t next = 0;
  while (next < trace.coflows.size() || sim.running() > 0) {
    const Seconds end = sim.next_end();
    const Seconds arrival = next < trace.coflows.size() ? trace.coflows[next].arrival : kNever;
    sim.advance_to(std::min(end, arrival), ended);
    ++run.events;
    for (FlowId flow : ended) {
      ++run.flows;
      const std::uint32_t coflow = coflow_of[flow];
      if (--flows_left[coflow] == 0) run.coflows[coflow].end = sim.now();
    }
    for (; next < trace.coflows.size() && trace.coflows[next].arrival <= sim.now(); ++next) {
      const Coflow& coflow = trace.coflows[next];
      for (std::size_t k = 0; k < coflow.bytes.size(); ++k) {
        if (coflow.bytes[k] < kDoneBytes) continue;
        const std::array<LinkId, 2> path = {
            coflow.sources[k / coflow.targets.size()],
            trace.ports + coflow.targets[k % coflow.targets.size()]};
        const FlowId flow = sim.start({path}, coflow.bytes[k]);
        if (flow >= coflow_of.size()) coflow_of.resize(flow + std::size_t{1});
        coflow_of[flow] = static_cast<std::uint32_t>(next);
        ++flows_left[next];
        run.bytes += coflow.bytes[k];
      }
    }
  }
}

}  // namespace weft

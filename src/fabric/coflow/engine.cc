#include "fabric/coflow/engine.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/check.h"
#include "fabric/coflow/fair.h"

namespace weft {
namespace {

// A bundle with what it was given last, and out of what: while neither its flows nor the room it
// sees change, its rates stay, and it is not even brought up to date. With MADD, whose rates depend
// on what is left, all are given anew at every event.
struct Served {
  Bundle bundle;
  std::array<std::vector<double>, 2> before, after;  // room on its links: for MADD, for max-min
  bool stale = true;
  Seconds end = kNever;  // of its first flow
};

class Engine {
 public:
  Engine(const CoflowTrace& trace, CoflowScheduler& scheduler, const CoflowOptions& options,
         CoflowRun& run)
      : trace_(trace), scheduler_(scheduler), options_(options), run_(run) {
    view_.trace = &trace;
    view_.bytes_per_s = options.bytes_per_s;
    parts_.assign(trace.coflows.size(), 0);
  }

  void run() {
    while (next_ < trace_.coflows.size() || !served_.empty()) {
      if (view_.coflows_changed || woken_) ask();
      const Seconds arrival =
          next_ < trace_.coflows.size() ? trace_.coflows[next_].arrival : kNever;
      now_ = std::min(allocate(), arrival);
      CHECK_MSG(now_ < kNever, "coflows wait and nothing moves");
      ++run_.events;
      for (auto& served : served_) {
        if (served->end <= now_) bring_up(*served);
      }
      drop_ended();
      admit_arrivals();
    }
  }

 private:
  void bring_up(Served& served) {
    ended_.clear();
    advance(served.bundle, now_, ended_);
    run_.flows += ended_.size();
    if (!ended_.empty()) served.stale = true;
    if (served.bundle.sent >= served.bundle.wake_sent) woken_ = true;
    if (served.end <= now_) set_end(served);
  }

  // The next moment at which something happens to the bundle itself.
  void set_end(Served& served) const {
    const Bundle& bundle = served.bundle;
    served.end = bundle.flows_left > 0 ? first_end(bundle) : bundle.since;
    if (bundle.wake_sent == kNever || woken_) return;
    if (bundle.speed <= 0) return;
    // A byte more, so that the limit is reached whatever the rounding.
    const double bytes = std::max(0.0, bundle.wake_sent - bundle.sent) + 1;
    served.end = std::min(served.end, bundle.since + bytes / bundle.speed);
  }

  void sum_speed(Served& served) const {
    Bundle& bundle = served.bundle;
    bundle.speed = 0;
    for (std::size_t k = 0; k < bundle.links.size(); ++k) {
      bundle.link_use[k] = served.before[1][k] - served.after[1][k];
      if (plan_.madd) bundle.link_use[k] += served.before[0][k] - served.after[0][k];
      if (k < bundle.rows) bundle.speed += bundle.link_use[k];
    }
  }

  void ask() {
    for (auto& served : served_) bring_up(*served);
    drop_ended();
    for (auto& served : served_) sum_links(served->bundle);
    view_.now = now_;
    woken_ = false;
    if (!served_.empty()) scheduler_.plan(view_, plan_);
    view_.coflows_changed = false;
  }

  // Gives a bundle its room in one pass, or what it had if nothing changed.
  template <typename Give>
  void pass(Served& served, std::size_t which, Give&& give) {
    const Bundle& bundle = served.bundle;
    std::vector<double>& before = served.before[which];
    std::vector<double>& after = served.after[which];
    if (before.empty()) before.resize(bundle.links.size());
    after.resize(bundle.links.size());
    bool same = !served.stale;
    for (std::size_t k = 0; k < before.size(); ++k) {
      const double room = room_[bundle.links[k]];
      if (bundle.link_flows[k] > 0 && before[k] != room) same = false;
      before[k] = room;
    }
    if (!same) {
      bring_up(served);
      served.stale = true;
      give();
    }
    for (std::size_t k = 0; k < before.size(); ++k) {
      double& room = room_[bundle.links[k]];
      if (same && bundle.link_flows[k] > 0) room = after[k];
      after[k] = room;
    }
  }

  // Sets all rates. Returns the moment the first flow ends.
  Seconds allocate() {
    room_.assign(2 * std::size_t{trace_.ports}, options_.bytes_per_s);
    if (plan_.madd) {
      for (Bundle* bundle : plan_.order) {
        Served& served = *by_bundle_.at(bundle);
        served.stale = true;
        pass(served, 0, [&] { give_madd(*bundle, room_); });
      }
    }
    Seconds first = kNever;
    for (Bundle* bundle : plan_.order) {
      Served& served = *by_bundle_.at(bundle);
      pass(served, 1, [&] { give_max_min(*bundle, plan_.fill, room_, scratch_); });
      if (served.stale) {
        sum_speed(served);
        set_end(served);
      }
      served.stale = false;
      first = std::min(first, served.end);
    }
    if (options_.watch) options_.watch(now_, plan_.order);
    return first;
  }

  void drop_ended() {
    std::erase_if(plan_.order, [](const Bundle* bundle) { return bundle->flows_left == 0; });
    std::erase_if(served_, [&](const auto& served) {
      const Bundle& bundle = served->bundle;
      if (bundle.flows_left > 0) return false;
      view_.coflows_changed = true;
      scheduler_.ended(bundle);
      if (--parts_[bundle.coflow] == 0) run_.coflows[bundle.coflow].end = now_;
      by_bundle_.erase(&bundle);
      return true;
    });
  }

  void enter(Bundle bundle) {
    ++parts_[bundle.coflow];
    bundle.since = now_;
    served_.push_back(std::make_unique<Served>());
    served_.back()->bundle = std::move(bundle);
    by_bundle_[&served_.back()->bundle] = served_.back().get();
    plan_.order.push_back(&served_.back()->bundle);
  }

  void admit_arrivals() {
    for (; next_ < trace_.coflows.size() && trace_.coflows[next_].arrival <= now_; ++next_) {
      for (auto& served : served_) {
        bring_up(*served);
        sum_links(served->bundle);
      }
      view_.now = now_;
      Bundle bundle = make_bundle(trace_.coflows[next_], next_, trace_.ports);
      if (!scheduler_.admits(view_, plan_, bundle)) {
        run_.coflows[next_].refused = true;
        run_.coflows[next_].end = now_;
        continue;
      }
      for (double bytes : bundle.bytes) run_.bytes += bytes;
      view_.coflows_changed = true;
      Bundle pilot = scheduler_.take_pilot(view_, bundle);
      if (pilot.flows_left > 0) enter(std::move(pilot));
      if (bundle.flows_left > 0) enter(std::move(bundle));
    }
  }

  const CoflowTrace& trace_;
  CoflowScheduler& scheduler_;
  const CoflowOptions& options_;
  CoflowRun& run_;
  CoflowView view_;
  CoflowPlan plan_;
  std::vector<std::unique_ptr<Served>> served_;
  std::unordered_map<const Bundle*, Served*> by_bundle_;
  std::vector<std::uint32_t> parts_;  // bundles of a coflow that have not ended
  PortRoom room_;
  FillScratch scratch_;
  std::vector<std::uint32_t> ended_;
  std::uint32_t next_ = 0;
  Seconds now_ = 0;
  bool woken_ = false;
};

}  // namespace

CoflowRun run_coflows(const CoflowTrace& trace, const CoflowPolicy& policy,
                      const CoflowOptions& options) {
  CoflowRun run;
  run.coflows.resize(trace.coflows.size());
  for (std::size_t k = 0; k < trace.coflows.size(); ++k) {
    run.coflows[k].arrival = trace.coflows[k].arrival;
    run.coflows[k].isolated = isolated_time(trace.coflows[k], options.bytes_per_s);
  }
  if (policy.make == nullptr) {
    run_fair_flows(trace, options, run);
    return run;
  }
  const std::unique_ptr<CoflowScheduler> scheduler = policy.make();
  Engine(trace, *scheduler, options, run).run();
  return run;
}

}  // namespace weft

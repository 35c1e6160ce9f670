#include "planner/energy/energy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "pipeline/solve.h"
#include "planner/energy/cost_curve.h"
#include "planner/energy/network.h"
#include "planner/energy/slack.h"

namespace weft::planner {
namespace {

using pipeline::Op;

// Times are whole ticks and slopes whole numbers, so that the search is exact: twelve digits of the
// time of all operations together, nine of the steepest slope.
constexpr double kTicks = 1e12;
constexpr double kSlopes = 1e9;
constexpr double kNoRate = std::numeric_limits<double>::infinity();

const std::vector<ClockChoice>* choices_of(const ClockTable& table, const Op& op) {
  if (!computes(op.kind)) return nullptr;
  auto found = table.find({op.kind, op.work.chunk});
  if (found == table.end()) found = table.find({op.kind, kAnyChunk});
  return found == table.end() || found->second.empty() ? nullptr : &found->second;
}

// What a choice costs beyond a device that waits for as long.
double extra(const ClockChoice& choice, double idle_watts) {
  return choice.joules - idle_watts * choice.seconds;
}

// The lower hull of (seconds, extra cost) from the fastest choice to the cheapest.
std::vector<ClockChoice> hull_of(std::vector<ClockChoice> choices, double idle_watts) {
  std::sort(choices.begin(), choices.end(), [&](const ClockChoice& a, const ClockChoice& b) {
    return std::pair(a.seconds, extra(a, idle_watts)) < std::pair(b.seconds, extra(b, idle_watts));
  });
  std::vector<ClockChoice> hull;
  const auto slope = [&](const ClockChoice& a, const ClockChoice& b) {
    return (extra(b, idle_watts) - extra(a, idle_watts)) / (b.seconds - a.seconds);
  };
  for (const ClockChoice& one : choices) {
    if (!hull.empty() && (one.seconds <= hull.back().seconds ||
                          extra(one, idle_watts) >= extra(hull.back(), idle_watts))) {
      continue;
    }
    while (hull.size() > 1 &&
           slope(hull[hull.size() - 2], hull.back()) >= slope(hull.back(), one)) {
      hull.pop_back();
    }
    hull.push_back(one);
  }
  return hull;
}

class Frontier {
 public:
  Frontier(const pipeline::Schedule& schedule, const ClockTable& table)
      : s_(schedule), table_(table) {}

  Result<EnergyFrontier> run(int points, const std::vector<double>& deadlines_s,
                             const EnergyWatch& watch) {
    scale();
    auto network = network_of(s_, tick_s_);
    if (!network.ok()) return network.error();
    net_ = std::move(*network);
    fill();
    EnergyFrontier out;
    const pipeline::Schedule fast = chosen_for(nullptr).chosen;
    const auto fastest = pipeline::solve(fast);
    CHECK(fastest.ok());
    out.fastest_s = fastest->makespan;
    out.fastest_joules = fastest->total_joules;
    CostCurve curve(net_.events, net_.activities);
    const double longest = static_cast<double>(curve.length()) * tick_s_;
    const auto go_on = [&] {
      const double now = static_cast<double>(curve.length()) * tick_s_;
      return !watch || watch((longest - now) / std::max(longest - out.fastest_s, tick_s_));
    };
    // Longer steps cost more in waiting than they save.
    const double waiting = s_.idle_watts * static_cast<double>(s_.programs.size());
    out.stopped = !curve.shorten_to(0, waiting / slope_unit_, go_on);
    out.cheapest_s = static_cast<double>(curve.length()) * tick_s_;
    std::vector<double> targets = deadlines_s;
    for (int i = 0; i < points && deadlines_s.empty(); ++i) {
      const double part = points > 1 ? static_cast<double>(i) / (points - 1) : 0;
      targets.push_back(out.fastest_s + part * (out.cheapest_s - out.fastest_s));
    }
    std::sort(targets.rbegin(), targets.rend());
    for (const double target : targets) {
      if (target < out.fastest_s * (1 - 1e-9)) {
        return Error{
            ErrorKind::kInvalidInput,
            fmt::format("a step cannot take {} s; the fastest takes {} s", target, out.fastest_s),
            ""};
      }
      if (out.stopped || !curve.shorten_to(ticks(target) + rounding_, kNoRate, go_on)) {
        out.stopped = true;
        break;
      }
      out.points.push_back(point(curve));
    }
    if (out.points.empty()) {
      return Error{ErrorKind::kUnsupported,
                   "the search was stopped before it found its first point",
                   "give it more time, or fewer stages and micro-batches"};
    }
    std::reverse(out.points.begin(), out.points.end());
    return out;
  }

 private:
  void scale() {
    double longest = 0, steepest = 0;
    for (const double seconds : s_.transfer_seconds) longest += seconds * s_.micro_batches * 2;
    for (const auto& program : s_.programs) {
      for (const Op& op : program) longest += op.seconds;
    }
    for (const auto& [key, choices] : table_) {
      double slowest = 0;
      for (const ClockChoice& choice : choices) slowest = std::max(slowest, choice.seconds);
      longest += slowest * static_cast<double>(s_.works());
      hulls_[key] = hull_of(choices, s_.idle_watts);
      const auto& hull = hulls_[key];
      for (std::size_t i = 1; i < hull.size(); ++i) {
        steepest = std::max(steepest, slope(hull, i));
      }
    }
    for (const auto& program : s_.programs) rounding_ += static_cast<std::int64_t>(program.size());
    tick_s_ = longest > 0 ? longest / kTicks : 1;
    slope_unit_ = steepest > 0 ? steepest / kSlopes : 1;
  }

  double slope(const std::vector<ClockChoice>& hull, std::size_t i) const {
    return (extra(hull[i - 1], s_.idle_watts) - extra(hull[i], s_.idle_watts)) /
           (hull[i].seconds - hull[i - 1].seconds);
  }

  void fill() {
    for (std::size_t d = 0; d < s_.programs.size(); ++d) {
      for (std::size_t i = 0; i < s_.programs[d].size(); ++i) {
        const Op& op = s_.programs[d][i];
        Activity& a = net_.activities[static_cast<std::size_t>(net_.of_op[d][i])];
        const auto* hull = choices_of(hulls_, op);
        if (hull == nullptr) {
          a.kinks = {ticks(op.seconds)};
          base_ += op.joules - s_.idle_watts * op.seconds;
          continue;
        }
        for (std::size_t k = 0; k < hull->size(); ++k) {
          const std::int64_t kink = ticks((*hull)[k].seconds);
          if (!a.kinks.empty() && kink <= a.kinks.back()) continue;
          if (!a.kinks.empty()) {
            const std::int64_t wanted = std::llround(slope(*hull, k) / slope_unit_);
            const std::int64_t most = a.slopes.empty() ? wanted : a.slopes.back();
            a.slopes.push_back(
                std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(most, 1)));
          }
          a.kinks.push_back(kink);
        }
        base_ += extra(hull->back(), s_.idle_watts);
      }
    }
  }

  // The cheapest choice that takes at most `room` ticks, or the fastest.
  const ClockChoice& cheapest(const std::vector<ClockChoice>& choices, std::int64_t room) const {
    const ClockChoice* best = &choices[0];
    for (const ClockChoice& one : choices) {
      const bool fits = ticks(one.seconds) <= room + rounding_;
      const bool best_fits = ticks(best->seconds) <= room + rounding_;
      const bool cheaper = extra(one, s_.idle_watts) < extra(*best, s_.idle_watts);
      if (fits && best_fits ? cheaper : one.seconds < best->seconds) best = &one;
    }
    return *best;
  }

  // Each operation at its cheapest choice that fits in the time the curve gives it (without a
  // curve: its fastest). What that leaves over is then given to one operation after the other.
  EnergyPoint chosen_for(const CostCurve* curve) const {
    EnergyPoint out;
    out.chosen = s_;
    for (const auto& program : s_.programs) out.clocks.emplace_back(program.size());
    std::vector<std::int64_t> taken;
    for (const Activity& a : net_.activities) taken.push_back(a.kinks.front());
    const auto take = [&](std::size_t d, std::size_t i, const ClockChoice& choice) {
      Op& op = out.chosen.programs[d][i];
      op.seconds = choice.seconds;
      op.joules = choice.joules;
      out.clocks[d][i] = choice.clock;
      taken[static_cast<std::size_t>(net_.of_op[d][i])] = ticks(choice.seconds);
    };
    each_choice([&](std::size_t d, std::size_t i, const std::vector<ClockChoice>& choices) {
      const Activity& a = net_.activities[static_cast<std::size_t>(net_.of_op[d][i])];
      const std::int64_t room = curve == nullptr
                                    ? -rounding_ - 1
                                    : curve->times()[static_cast<std::size_t>(a.to)] -
                                          curve->times()[static_cast<std::size_t>(a.from)];
      take(d, i, cheapest(choices, room));
    });
    if (curve == nullptr) return out;
    Slack slack(net_.events, net_.activities, taken);
    each_choice([&](std::size_t d, std::size_t i, const std::vector<ClockChoice>& choices) {
      const int activity = net_.of_op[d][i];
      const double now = out.chosen.programs[d][i].seconds;
      const std::int64_t hoped = slack.room_at_most(activity, curve->length());
      if (cheapest(choices, hoped).seconds <= now) return;
      const ClockChoice& best = cheapest(choices, slack.room(activity, curve->length()));
      if (best.seconds <= now) return;
      take(d, i, best);
      slack.lengthen(activity, ticks(best.seconds));
    });
    return out;
  }

  template <typename Visit>
  void each_choice(Visit visit) const {
    for (std::size_t d = 0; d < s_.programs.size(); ++d) {
      for (std::size_t i = 0; i < s_.programs[d].size(); ++i) {
        const auto* choices = choices_of(table_, s_.programs[d][i]);
        if (choices != nullptr) visit(d, i, *choices);
      }
    }
  }

  std::int64_t ticks(double seconds) const { return std::llround(seconds / tick_s_); }

  EnergyPoint point(const CostCurve& curve) const {
    EnergyPoint out = chosen_for(&curve);
    const double waiting = s_.idle_watts * static_cast<double>(s_.programs.size());
    const auto timeline = pipeline::solve(out.chosen);
    CHECK(timeline.ok());
    out.seconds = timeline->makespan;
    const double length = static_cast<double>(curve.length()) * tick_s_;
    out.bound_joules = base_ + curve.cost() * slope_unit_ * tick_s_ + waiting * length;
    out.joules = timeline->total_joules + waiting * std::max(0.0, length - timeline->makespan);
    out.seconds = std::max(timeline->makespan, length);
    return out;
  }

  const pipeline::Schedule& s_;
  const ClockTable& table_;
  ClockTable hulls_;
  PipelineNetwork net_;
  double tick_s_ = 1, slope_unit_ = 1;
  std::int64_t rounding_ = 0;  // ticks by which sums of rounded times may be off: one per operation
  double base_ = 0;            // cost of everything at its cheapest, beyond waiting
};

}  // namespace

Result<EnergyFrontier> energy_frontier(const pipeline::Schedule& schedule, const ClockTable& table,
                                       int points, const std::vector<double>& deadlines_s,
                                       const EnergyWatch& watch) {
  CHECK(points >= 1);
  return Frontier(schedule, table).run(points, deadlines_s, watch);
}

}  // namespace weft::planner

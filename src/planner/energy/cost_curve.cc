#include "planner/energy/cost_curve.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace weft::planner {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max() / 4;
constexpr int kUnlabelled = -2, kBeginning = -1;

}  // namespace

CostCurve::CostCurve(int events, std::vector<Activity> activities)
    : activities_(std::move(activities)),
      out_(static_cast<std::size_t>(events)),
      in_(out_.size()),
      time_(out_.size()),
      flow_(activities_.size()),
      from_(out_.size(), kUnlabelled) {
  for (std::size_t a = 0; a < activities_.size(); ++a) {
    CHECK(activities_[a].slopes.size() + 1 == activities_[a].kinks.size());
    out_[static_cast<std::size_t>(activities_[a].from)].push_back(static_cast<int>(a));
    in_[static_cast<std::size_t>(activities_[a].to)].push_back(static_cast<int>(a));
  }
  find_times();
  label(0);
}

std::int64_t CostCurve::tension(const Activity& a) const {
  return time_[static_cast<std::size_t>(a.to)] - time_[static_cast<std::size_t>(a.from)];
}

// Between which limits the flow of an activity keeps its time optimal.
CostCurve::Bounds CostCurve::bounds(const Activity& a) const {
  const std::int64_t x = tension(a);
  if (x > a.kinks.back()) return {0, 0};
  const auto above = std::lower_bound(a.kinks.begin(), a.kinks.end(), x);
  const auto k = static_cast<std::size_t>(above - a.kinks.begin());
  if (*above != x) return {a.slopes[k - 1], a.slopes[k - 1]};
  return {k < a.slopes.size() ? a.slopes[k] : 0, k > 0 ? a.slopes[k - 1] : kNoLimit};
}

// Everything at its cheapest, as early as possible.
void CostCurve::find_times() {
  std::vector<std::size_t> waits(out_.size());
  for (const Activity& a : activities_) ++waits[static_cast<std::size_t>(a.to)];
  std::vector<int> ready = {0};
  std::size_t done = 0;
  while (!ready.empty()) {
    const auto event = static_cast<std::size_t>(ready.back());
    ready.pop_back();
    ++done;
    for (const int number : out_[event]) {
      const Activity& a = activities_[static_cast<std::size_t>(number)];
      const auto to = static_cast<std::size_t>(a.to);
      time_[to] = std::max(time_[to], time_[event] + a.kinks.back());
      if (--waits[to] == 0) ready.push_back(a.to);
    }
  }
  CHECK(done == out_.size());
}

void CostCurve::label(int event) {
  from_[static_cast<std::size_t>(event)] = kBeginning;
  reached_.push_back(event);
  open_ = {event};
}

// Labels what more flow can reach, the newest first because that leads to the end soonest; whether
// the end is among it.
bool CostCurve::spread() {
  while (!open_.empty()) {
    const auto event = static_cast<std::size_t>(open_.back());
    open_.pop_back();
    const auto visit = [&](int number, int other) {
      int& from = from_[static_cast<std::size_t>(other)];
      if (from != kUnlabelled) return;
      from = number;
      reached_.push_back(other);
      open_.push_back(other);
    };
    for (const int number : in_[event]) {
      const Activity& a = activities_[static_cast<std::size_t>(number)];
      if (from_[static_cast<std::size_t>(a.from)] != kUnlabelled) continue;
      if (flow_[static_cast<std::size_t>(number)] > bounds(a).low) visit(number, a.from);
    }
    for (const int number : out_[event]) {
      const Activity& a = activities_[static_cast<std::size_t>(number)];
      if (from_[static_cast<std::size_t>(a.to)] != kUnlabelled) continue;
      if (flow_[static_cast<std::size_t>(number)] < bounds(a).high) visit(number, a.to);
    }
    if (from_[1] != kUnlabelled) return true;
  }
  return false;
}

// More flow along the labels; false: without limit, so nothing can be quickened any more.
bool CostCurve::augment() {
  std::int64_t more = kNoLimit;
  const auto each = [&](auto visit) {
    for (int event = 1; event != 0;) {
      const auto number = static_cast<std::size_t>(from_[static_cast<std::size_t>(event)]);
      const Activity& a = activities_[number];
      const bool ahead = a.to == event;
      visit(number, a, ahead);
      event = ahead ? a.from : a.to;
    }
  };
  each([&](std::size_t number, const Activity& a, bool ahead) {
    const Bounds limits = bounds(a);
    if (ahead && limits.high == kNoLimit) return;
    more = std::min(more, ahead ? limits.high - flow_[number] : flow_[number] - limits.low);
  });
  if (more == kNoLimit) return false;
  each([&](std::size_t number, const Activity&, bool ahead) {
    flow_[number] += ahead ? more : -more;
  });
  value_ += more;
  for (const int event : reached_) from_[static_cast<std::size_t>(event)] = kUnlabelled;
  reached_.clear();
  label(0);
  return true;
}

// For how many ticks the cut between labelled and other events stays the cheapest.
std::int64_t CostCurve::step() const {
  std::int64_t most = kNoLimit;
  for (const int reached : reached_) {
    const auto event = static_cast<std::size_t>(reached);
    for (const int number : out_[event]) {
      const Activity& a = activities_[static_cast<std::size_t>(number)];
      if (from_[static_cast<std::size_t>(a.to)] != kUnlabelled) continue;
      const std::int64_t x = tension(a);
      const auto kink = std::lower_bound(a.kinks.begin(), a.kinks.end(), x);
      CHECK(kink != a.kinks.begin());
      most = std::min(most, x - *(kink - 1));
    }
    for (const int number : in_[event]) {
      const Activity& a = activities_[static_cast<std::size_t>(number)];
      if (from_[static_cast<std::size_t>(a.from)] != kUnlabelled) continue;
      const std::int64_t x = tension(a);
      const auto kink = std::upper_bound(a.kinks.begin(), a.kinks.end(), x);
      if (kink != a.kinks.end()) most = std::min(most, *kink - x);
    }
  }
  return most;
}

bool CostCurve::shorten_to(std::int64_t target, double most_rate,
                           const std::function<bool()>& go_on) {
  while (time_[1] > target && !shortest_) {
    if (go_on && !go_on()) return false;
    if (spread()) {
      shortest_ = !augment();
      continue;
    }
    if (static_cast<double>(value_) >= most_rate) return true;
    const std::int64_t ticks = std::min(step(), time_[1] - target);
    for (std::size_t event = 0; event < time_.size(); ++event) {
      if (from_[event] == kUnlabelled) time_[event] -= ticks;
    }
    cost_ += static_cast<double>(ticks) * static_cast<double>(value_);
    open_ = reached_;  // labels stay; the cut's activities may now take more
  }
  return true;
}

}  // namespace weft::planner

#include "planner/energy/slack.h"

#include <algorithm>

namespace weft::planner {

Slack::Slack(int events, const std::vector<Activity>& activities, std::vector<std::int64_t> ticks)
    : activities_(activities), ticks_(std::move(ticks)) {
  const auto count = static_cast<std::size_t>(events);
  early_.resize(count);  // zeros: more room than there is, until update()
  tail_.resize(count);
  std::vector<std::vector<int>> out(count);
  std::vector<int> waits(count), ready = {0};
  for (std::size_t a = 0; a < activities.size(); ++a) {
    out[static_cast<std::size_t>(activities[a].from)].push_back(static_cast<int>(a));
    ++waits[static_cast<std::size_t>(activities[a].to)];
  }
  while (!ready.empty()) {
    const int event = ready.back();
    ready.pop_back();
    for (const int a : out[static_cast<std::size_t>(event)]) {
      order_.push_back(a);
      const int to = activities[static_cast<std::size_t>(a)].to;
      if (--waits[static_cast<std::size_t>(to)] == 0) ready.push_back(to);
    }
  }
}

void Slack::update() {
  if (!stale_) return;
  stale_ = false;
  std::fill(early_.begin(), early_.end(), 0);
  std::fill(tail_.begin(), tail_.end(), 0);
  for (const int number : order_) {
    const Activity& a = activities_[static_cast<std::size_t>(number)];
    std::int64_t& at = early_[static_cast<std::size_t>(a.to)];
    at = std::max(
        at, early_[static_cast<std::size_t>(a.from)] + ticks_[static_cast<std::size_t>(number)]);
  }
  for (auto number = order_.rbegin(); number != order_.rend(); ++number) {
    const Activity& a = activities_[static_cast<std::size_t>(*number)];
    std::int64_t& rest = tail_[static_cast<std::size_t>(a.from)];
    rest = std::max(
        rest, tail_[static_cast<std::size_t>(a.to)] + ticks_[static_cast<std::size_t>(*number)]);
  }
}

std::int64_t Slack::room(int activity, std::int64_t end) {
  update();
  return room_at_most(activity, end);
}

std::int64_t Slack::room_at_most(int activity, std::int64_t end) const {
  const Activity& a = activities_[static_cast<std::size_t>(activity)];
  return end - early_[static_cast<std::size_t>(a.from)] - tail_[static_cast<std::size_t>(a.to)];
}

void Slack::lengthen(int activity, std::int64_t ticks) {
  ticks_[static_cast<std::size_t>(activity)] = ticks;
  stale_ = true;
}

}  // namespace weft::planner

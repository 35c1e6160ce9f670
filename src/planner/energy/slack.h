// What a network's activities may still take when each takes a given time.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/energy/cost_curve.h"

namespace weft::planner {

class Slack {
 public:
  // Requires: as CostCurve; `ticks` per activity.
  Slack(int events, const std::vector<Activity>& activities, std::vector<std::int64_t> ticks);

  // The longest an activity may take, all others as they are, if all is to end by `end`.
  std::int64_t room(int activity, std::int64_t end);
  // The same or more, at no cost: as things were before the last changes.
  std::int64_t room_at_most(int activity, std::int64_t end) const;
  // Requires: `ticks` is not less than before.
  void lengthen(int activity, std::int64_t ticks);

 private:
  void update();

  const std::vector<Activity>& activities_;
  std::vector<std::int64_t> ticks_;
  std::vector<int> order_;  // activities, by a topological order of their beginnings
  std::vector<std::int64_t> early_, tail_;  // per event: from the beginning, to the end
  bool stale_ = true;
};

}  // namespace weft::planner

// The project cost curve: what it costs to end a network of activities by each moment.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace weft::planner {

// An arc between two events. It may take any time from its first kink on; from kink to kink its
// cost falls by `slopes` per tick, less and less; beyond the last kink it stays. One kink: it takes
// that time at least and costs nothing.
struct Activity {
  int from = 0, to = 0;
  std::vector<std::int64_t> kinks;   // ticks, rising, not negative
  std::vector<std::int64_t> slopes;  // cost per tick, falling, above 0; one less than kinks
};

// Fulkerson, "A network flow computation for project cost curves" (1961): the longest time, at
// which everything is cheapest, is shortened step by step. A flow says what one tick less costs;
// its minimum cut says which activities are quickened and which may be slowed again. This is the
// step that Perseus takes (Chung and others, "Reducing energy bloat in large model training",
// 2024), done at once for as long as the cut stays the same, and exact: all numbers are whole.
class CostCurve {
 public:
  // Event 0 is the beginning, event 1 the end. Requires: arcs of events that form no circle, every
  // event on a path from 0 to 1.
  CostCurve(int events, std::vector<Activity> activities);

  std::int64_t length() const { return time_[1]; }
  // The cost above that at the longest time.
  double cost() const { return cost_; }
  // When each event happens. The time between the events of an activity is what it may take.
  const std::vector<std::int64_t>& times() const { return time_; }

  // Shortens to `target` ticks or to the least possible, whichever is longer, but not at more than
  // `most_rate` per tick.  Cost: O(activities) for each augmentation of the flow and each cut.
  // Stops, and can be called again, when `go_on` (asked at each of these) says no; whether it did
  // not.
  bool shorten_to(std::int64_t target, double most_rate = std::numeric_limits<double>::infinity(),
                  const std::function<bool()>& go_on = {});

 private:
  struct Bounds {
    std::int64_t low, high;
  };
  std::int64_t tension(const Activity& a) const;
  Bounds bounds(const Activity& a) const;
  void find_times();
  void label(int event);
  bool spread();
  bool augment();
  std::int64_t step() const;

  std::vector<Activity> activities_;
  std::vector<std::vector<int>> out_, in_;  // activities of each event
  std::vector<std::int64_t> time_, flow_;
  std::vector<int> from_;  // of each labelled event: the activity it was reached by, or kUnlabelled
  std::vector<int> reached_;  // labelled events
  std::vector<int> open_;     // of these, those whose neighbours are still to be looked at
  std::int64_t value_ = 0;
  double cost_ = 0;
  bool shortest_ = false;
};

}  // namespace weft::planner

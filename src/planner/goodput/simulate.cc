#include "planner/goodput/simulate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <set>

#include "base/random.h"
#include "planner/goodput/elastic.h"

namespace weft::planner {
namespace {

// Nodes that stand by, and those that come back to them.
class SparePool {
 public:
  SparePool(const GoodputCase& c, Random& random) : random_(random), free_(c.spares) {}

  // Replaces `nodes` that fail together now and are repaired together in `repair_s` on average;
  // gives back when all are there.
  double replace(double now, int nodes, double repair_s) {
    const double repaired = now + (repair_s > 0 ? random_.exponential(repair_s) : 0);
    for (int i = 0; i < nodes; ++i) back_.push(repaired);
    for (int i = 0; i < nodes; ++i) now = std::max(now, one(now));
    return now;
  }

 private:
  double one(double now) {
    while (!back_.empty() && back_.top() <= now) {
      back_.pop();
      ++free_;
    }
    if (free_ > 0) {
      --free_;
      return now;
    }
    const double at = back_.top();
    back_.pop();
    return at;
  }

  Random& random_;
  int free_;
  std::priority_queue<double, std::vector<double>, std::greater<>> back_;
};

// A job that restarts on the same number of nodes after each failure.
class Restarting {
 public:
  Restarting(const GoodputCase& c, Recovery policy, double interval_s, Random& random)
      : c_(c), policy_(policy), interval_s_(interval_s), random_(random), pool_(c, random) {}

  SimulatedGoodput run(long failures) {
    while (failures_ < failures) {
      const double until = now_ + random_.exponential(1 / c_.failures_per_s());
      policy_ == Recovery::kInMemory ? run_steps(until) : run_intervals(until);
      now_ = until;
      policy_ == Recovery::kInMemory ? recover_from_memory() : recover(c_.restart_s);
    }
    return {(safe_ + in_memory_) / now_, now_, failures_};
  }

 private:
  // From a restart to the next failure: work, a standstill, and a time until the checkpoint is safe
  // in which the next work goes on more slowly.
  void run_intervals(double until) {
    const bool overlapped = policy_ == Recovery::kOverlapped;
    const double standstill = overlapped ? c_.snapshot_s : c_.checkpoint_s;
    const double delay = overlapped ? c_.checkpoint_s : 0;
    double at = now_, slow = 0;
    while (true) {
      at += interval_s_ + slow + standstill;
      if (at + delay > until) return;
      safe_ += interval_s_;
      slow = overlapped ? c_.persist_slowdown * delay : 0;
    }
  }

  // Every step is safe in memory; every interval goes to the store.
  void run_steps(double until) {
    const double step = c_.step_s + c_.memory_checkpoint_s;
    for (double at = now_;;) {
      const double steps = std::ceil((interval_s_ - in_memory_) / c_.step_s);
      const double possible = std::floor((until - at) / step);
      if (possible < steps) {
        in_memory_ += possible * c_.step_s;
        return;
      }
      in_memory_ += steps * c_.step_s;
      at += steps * step + c_.checkpoint_s;
      if (at > until) return;
      safe_ += in_memory_;
      in_memory_ = 0;
    }
  }

  // Whether another failure comes within `pause`; else the pause is over.
  bool fails_within(double pause) {
    const double next = random_.exponential(1 / c_.failures_per_s());
    now_ += std::min(next, pause);
    return next < pause;
  }

  bool is_rack() { return random_.chance(c_.rack_failures_per_s() / c_.failures_per_s()); }

  void lose(bool rack) {
    ++failures_;
    now_ = rack ? pool_.replace(now_, c_.rack_nodes, c_.rack_repair_s)
                : pool_.replace(now_, 1, c_.repair_s);
  }

  void recover(double restart_s) {
    do {
      lose(is_rack());
    } while (fails_within(c_.detect_s + restart_s));
  }

  void recover_from_memory() {
    std::set<std::uint64_t> groups;  // whose members are being brought back
    const auto group = [&] {
      return random_.below(static_cast<std::uint64_t>(c_.nodes)) /
             static_cast<std::uint64_t>(c_.copies);
    };
    do {
      const bool rack = is_rack();
      // The owner of a copy that is already lost cannot be lost again.
      const bool other = random_.chance((c_.copies - 1.0) / c_.copies);
      const std::uint64_t hit = group();
      if (rack ? loses_copies(c_) : groups.contains(hit) && other) {
        in_memory_ = 0;
        lose(rack);
        if (fails_within(c_.detect_s + c_.restart_s)) recover(c_.restart_s);
        return;
      }
      if (!rack) groups.insert(hit);
      lose(rack);
    } while (fails_within(c_.detect_s + c_.memory_restart_s));
  }

  const GoodputCase& c_;
  Recovery policy_;
  double interval_s_;
  Random& random_;
  SparePool pool_;
  double now_ = 0, safe_ = 0, in_memory_ = 0;
  long failures_ = 0;
};

// A job that goes on with the nodes that are left.
class GoingOn {
 public:
  GoingOn(const GoodputCase& c, Recovery policy, double interval_s, Random& random)
      : c_(c),
        policy_(policy),
        interval_s_(interval_s),
        random_(random),
        empty_(static_cast<std::size_t>(c.nodes)) {}

  SimulatedGoodput run(long failures) {
    while (failures_ < failures) {
      const double racks = c_.rack_failures_per_s();
      const double failing = (c_.nodes - missing_) / c_.node_mtbf_s;
      const double returning = c_.repair_s > 0 ? (away_ - in_racks_) / c_.repair_s : 0;
      const double rack_returning =
          c_.rack_repair_s > 0 ? static_cast<double>(racks_.size()) / c_.rack_repair_s : 0;
      const double rate = racks + failing + returning + rack_returning;
      const double next = now_ + random_.exponential(1 / rate);
      train(next);
      now_ = next;
      double which = random_.uniform() * rate;
      if ((which -= failing) < 0) {
        fail();
      } else if ((which -= racks) < 0) {
        fail_rack();
      } else if ((which -= returning) < 0) {
        come_back();
      } else {
        rack_comes_back();
      }
    }
    return {(safe_ + done_) / now_, now_, failures_};
  }

 private:
  void train(double until) {
    const double speed = speed_at(c_, policy_, empty_, missing_);
    double at = std::max(now_, paused_until_);
    while (at < until && speed > 0) {
      const double left = (interval_s_ - done_) / speed;
      if (left > until - at) {
        done_ += (until - at) * speed;
        return;
      }
      at += left + c_.checkpoint_s;
      safe_ += interval_s_;
      done_ = 0;
    }
    paused_until_ = std::max(paused_until_, at);  // a checkpoint that is under way
  }

  void fail() {
    ++failures_;
    int place = 0;
    do {
      place = static_cast<int>(random_.below(static_cast<std::uint64_t>(c_.nodes)));
    } while (empty_[static_cast<std::size_t>(place)]);
    pause(lose(place, c_.repair_s));
  }

  // Whether the job cannot go on without this place.
  bool lose(int place, double repair_s) {
    const bool fatal = is_fatal(c_, policy_, empty_, place);
    if (repair_s > 0 && ++away_ > c_.spares) {
      empty_[static_cast<std::size_t>(place)] = true;
      ++missing_;
    }
    return fatal;
  }

  // All nodes of a rack at once. Whether that is fatal shows with all of them gone; spares fill in
  // afterwards.
  void fail_rack() {
    ++failures_;
    const std::uint64_t racks = static_cast<std::uint64_t>(c_.nodes / c_.rack_nodes);
    const int first = static_cast<int>(random_.below(racks)) * c_.rack_nodes;
    std::vector<bool> gone = empty_;
    bool fatal = false;
    int lost = 0;
    for (int place = first; place < first + c_.rack_nodes; ++place) {
      if (empty_[static_cast<std::size_t>(place)]) continue;
      fatal |= is_fatal(c_, policy_, gone, place);
      gone[static_cast<std::size_t>(place)] = true;
      lose(place, c_.rack_repair_s);
      ++lost;
    }
    if (c_.rack_repair_s > 0) {
      racks_.push_back(lost);
      in_racks_ += lost;
    }
    pause(fatal);
  }

  void rack_comes_back() {
    const std::size_t which = random_.below(racks_.size());
    const int nodes = racks_[which];
    racks_.erase(racks_.begin() + static_cast<std::ptrdiff_t>(which));
    in_racks_ -= nodes;
    for (int i = 0; i < nodes; ++i) come_back();
  }

  void pause(bool fatal) {
    if (!fatal) {
      done_ -= std::fmod(done_, c_.step_s);
      paused_until_ = std::max(paused_until_, now_ + c_.detect_s + c_.reconfigure_s);
      return;
    }
    done_ = 0;
    paused_until_ = std::max(paused_until_, now_ + c_.detect_s + c_.restart_s);
    deal_anew();
  }

  void come_back() {
    --away_;
    if (missing_ == 0) return;
    // Any of the empty places, with equal probability.
    std::uint64_t skip = random_.below(static_cast<std::uint64_t>(missing_));
    for (std::size_t i = 0; i < empty_.size(); ++i) {
      if (empty_[i] && skip-- == 0) {
        empty_[i] = false;
        break;
      }
    }
    --missing_;
    paused_until_ = std::max(paused_until_, now_ + c_.reconfigure_s);
  }

  // A restart puts the nodes that are there in any places.
  void deal_anew() {
    for (std::size_t i = empty_.size(); i > 1; --i) {
      const std::size_t j = random_.below(i);
      const bool other = empty_[j];
      empty_[j] = empty_[i - 1];
      empty_[i - 1] = other;
    }
  }

  const GoodputCase& c_;
  Recovery policy_;
  double interval_s_;
  Random& random_;
  std::vector<bool> empty_;
  std::vector<int> racks_;  // nodes of each rack that is away
  int away_ = 0, in_racks_ = 0, missing_ = 0;
  double now_ = 0, paused_until_ = 0, safe_ = 0, done_ = 0;
  long failures_ = 0;
};

}  // namespace

SimulatedGoodput simulate_goodput(const GoodputCase& c, Recovery policy, long failures,
                                  std::uint64_t seed) {
  Random random(seed);
  const double interval = expected_goodput(c, policy).interval_s;
  if (policy >= Recovery::kTemplates) return GoingOn(c, policy, interval, random).run(failures);
  return Restarting(c, policy, interval, random).run(failures);
}

}  // namespace weft::planner

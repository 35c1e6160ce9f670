// What each elastic policy's paper says of its choice, on random rounds.
#include "policy/values/value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/random.h"
#include "policy/policy_testing.h"

namespace weft {
namespace {

// Jobs that offer powers of two on every type, with rates that grow ever less; some hold an offer.
class RandomRound {
 public:
  RandomRound(std::uint64_t seed, const Value& value, size_t most_jobs)
      : random_(seed),
        cluster_(small_cluster(value.blind() || seed % 3 == 0 ? "4x8" : "fast:3x4,slow:2x8")),
        state_(cluster_) {
    state_.now = 5000;
    round.state = &state_;
    for (TypeId t = 0; t < cluster_.types.size(); ++t) {
      round.capacity.push_back(cluster_.device_count(t));
    }
    const size_t jobs = 1 + random_.below(most_jobs);
    for (size_t i = 0; i < jobs; ++i) add_job(static_cast<JobId>(i), value);
    value.appraise(round);
    problem.capacity = round.capacity;
    problem.first_option.push_back(0);
    for (const Bidder& bidder : round.bidders) {
      for (const Offer& offer : bidder.offers) {
        problem.options.push_back({offer.value, offer.devices, offer.type});
      }
      problem.first_option.push_back(static_cast<std::uint32_t>(problem.options.size()));
    }
    result = value.settle(round, problem, {});
  }

  // The offer chosen for the bidder; null: none.
  const Offer* chosen(size_t i) const {
    if (result.choice[i] == kNoOption) return nullptr;
    return &round.bidders[i]
                .offers[static_cast<size_t>(result.choice[i]) - problem.first_option[i]];
  }
  std::vector<std::int64_t> free() const {
    std::vector<std::int64_t> left = round.capacity;
    for (size_t i = 0; i < round.bidders.size(); ++i) {
      if (const Offer* offer = chosen(i)) left[offer->type] -= offer->devices;
    }
    return left;
  }

  Round round;
  ChooseProblem problem;
  ChooseResult result;

 private:
  void add_job(JobId id, const Value& value) {
    Configuration c;
    c.rate = random_.uniform(0.5, 3);
    const double scaling = random_.uniform(0.4, 1), slower = random_.uniform(0.2, 1);
    auto menu = std::make_shared<Menu>();
    std::vector<Offer>& offers = offers_.emplace_back();
    for (TypeId t = 0; t < cluster_.types.size(); ++t) {
      for (std::uint32_t devices = 1; devices <= 8; devices *= 2) {
        Offer offer;
        offer.configuration = static_cast<std::uint16_t>(menu->configurations.size());
        offer.type = t;
        offer.devices = static_cast<std::int32_t>(devices);
        offer.gang = {1, offer.devices};
        offers.push_back(offer);
        Configuration& sized = menu->configurations.emplace_back(c);
        sized.type = t;
        sized.devices = devices;
        sized.rate = c.rate * std::pow(devices, scaling) * (t == 0 ? 1 : slower);
      }
    }
    JobState& job = jobs_.emplace_back(small_job(c, id));
    auto spec = std::make_shared<Submission>(*job.spec);
    spec->menu = menu;
    job.spec = spec;
    job.submit = random_.uniform(0, 5000);
    job.estimate.duration = random_.log_normal(7, 1);
    job.restarts = static_cast<std::uint16_t>(random_.below(4));
    for (Offer& offer : offers) offer.speed = value.speed(state_, job, offer);
    Bidder& bidder = round.bidders.emplace_back();
    bidder.job = &job;
    bidder.offers = offers;
    bidder.restart_s = 30;
    if (random_.chance(0.5)) bidder.held = static_cast<std::int32_t>(random_.below(offers.size()));
  }

  Random random_;
  Cluster cluster_;
  State state_;
  std::deque<JobState> jobs_;
  std::deque<std::vector<Offer>> offers_;
};

double worth(const Offer* offer) { return offer != nullptr ? std::max(offer->value, 0.0) : 0; }

// Sia's objective is maximal (SOSP 2023, the integer program of its section 3.4), so in particular
// no job alone could raise it by another configuration on the devices that are free.
TEST(SiaValue, NoJobAloneCouldDoBetter) {
  const auto sia = sia_value(-0.5, 1.1);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomRound r(seed, *sia, 60);
    const std::vector<std::int64_t> free = r.free();
    for (size_t i = 0; i < r.round.bidders.size(); ++i) {
      const Offer* mine = r.chosen(i);
      for (const Offer& other : r.round.bidders[i].offers) {
        const bool same_type = mine != nullptr && mine->type == other.type;
        if (other.devices > free[other.type] + (same_type ? mine->devices : 0)) continue;
        EXPECT_LE(worth(&other), worth(mine) + 1e-9) << "seed " << seed << ", job " << i;
      }
    }
  }
}

// Pollux' fitness is the power mean of the speedups over an equal share (OSDI 2021, section 4.2),
// which an equal share itself meets at 1 as long as every job keeps what it holds.
TEST(PolluxValue, NoWorseThanTheEqualShare) {
  const auto pollux = pollux_value();
  long better = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomRound r(seed, *pollux, 40);
    const auto jobs = static_cast<std::int64_t>(r.round.bidders.size());
    double chosen = 0, equal = 0;
    for (size_t i = 0; i < r.round.bidders.size(); ++i) {
      // The largest power of two within an equal share; nothing if there are more jobs than
      // devices.
      const Offer* share = nullptr;
      for (const Offer& offer : r.round.bidders[i].offers) {
        if (offer.devices * jobs <= r.round.capacity[0]) share = &offer;
      }
      equal += worth(share);
      chosen += worth(r.chosen(i));
    }
    EXPECT_GE(chosen, equal * (1 - 1e-9)) << "seed " << seed;
    better += chosen > equal * (1 + 1e-6);
  }
  EXPECT_GT(better, 100);
}

// Optimus (EuroSys 2018, section 4.1) adds a worker at a time where it shortens the remaining times
// most for each device. The solver's sum of remaining times is no longer.
TEST(OptimusValue, NoWorseThanThePapersGreedy) {
  const auto optimus = optimus_value();
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomRound r(seed, *optimus, 40);
    std::vector<std::int64_t> free = r.round.capacity;
    std::vector<const Offer*> taken(r.round.bidders.size(), nullptr);
    for (;;) {
      double best = 0;
      size_t who = 0;
      const Offer* step = nullptr;
      for (size_t i = 0; i < taken.size(); ++i) {
        for (const Offer& offer : r.round.bidders[i].offers) {
          const bool same_type = taken[i] != nullptr && taken[i]->type == offer.type;
          const std::int32_t own = same_type ? taken[i]->devices : 0;
          if (offer.devices > free[offer.type] + own) continue;
          const double gain = (worth(&offer) - worth(taken[i])) / std::max(offer.devices - own, 1);
          if (gain <= best + 1e-12) continue;
          best = gain;
          who = i;
          step = &offer;
        }
      }
      if (step == nullptr) break;
      if (taken[who] != nullptr) free[taken[who]->type] += taken[who]->devices;
      free[step->type] -= step->devices;
      taken[who] = step;
    }
    double greedy = 0, solved = 0;
    for (size_t i = 0; i < taken.size(); ++i) {
      greedy += worth(taken[i]);
      solved += worth(r.chosen(i));
    }
    EXPECT_GE(solved, greedy * (1 - 1e-9)) << "seed " << seed;
  }
}

// AFS (NSDI 2021, section 4): devices go to the shortest first, nobody has a second one before
// everybody has one, and none stays free that would speed anybody up.
TEST(AfsValue, TheShortestFirstAndNothingLeftUnused) {
  const auto afs = afs_value();
  long crowded = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomRound r(seed, *afs, 60);
    const std::vector<std::int64_t> free = r.free();
    bool somebody_waits = false;
    for (size_t i = 0; i < r.round.bidders.size(); ++i) {
      const Offer* mine = r.chosen(i);
      somebody_waits |= mine == nullptr;
      for (const Offer& other : r.round.bidders[i].offers) {
        const bool same_type = mine != nullptr && mine->type == other.type;
        if (other.devices > free[other.type] + (same_type ? mine->devices : 0)) continue;
        EXPECT_LE(worth(&other), worth(mine) + 1e-9) << "seed " << seed << ", job " << i;
      }
    }
    if (!somebody_waits) continue;
    ++crowded;
    // On like devices the length of a job is its work over its speed on one.
    double longest_served = 0, shortest_waiting = kNever;
    for (size_t i = 0; i < r.round.bidders.size(); ++i) {
      const Bidder& bidder = r.round.bidders[i];
      const Offer* mine = r.chosen(i);
      if (mine != nullptr) {
        EXPECT_EQ(mine->devices, 1) << "seed " << seed;
      }
      const double alone =
          believed_work_left(*bidder.job, r.round.state->now) / bidder.offers.front().speed;
      if (mine != nullptr) longest_served = std::max(longest_served, alone);
      if (mine == nullptr) shortest_waiting = std::min(shortest_waiting, alone);
    }
    if (r.round.capacity.size() == 1) {
      EXPECT_LE(longest_served, shortest_waiting) << "seed " << seed;
    }
  }
  EXPECT_GT(crowded, 50);
}

}  // namespace
}  // namespace weft

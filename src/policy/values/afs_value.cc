#include <algorithm>

#include "policy/values/value.h"

namespace weft {
namespace {

// A bidder while devices are handed out.
struct Share {
  std::int32_t taken = kNoOption;
  std::int32_t next = kNoOption;  // the step up it would take; kNoOption: nothing larger fits
  double work = 0;
};

// Apathetic future share (Hwang et al., NSDI 2021), section 4: a job that will end soon frees what
// it holds for those that stay, so of two jobs the shorter has the next device, unless the longer
// gains more from it, as a share of its speed with it, than the shorter does, as a share of its
// speed without it. Jobs without anything come first, the shortest ahead.
class AfsValue : public Value {
 public:
  void appraise(Round& round) const override {
    for (Bidder& bidder : round.bidders) {
      for (Offer& offer : bidder.offers) offer.value = offer.speed;
    }
  }

  ChooseResult settle(const Round& round, const ChooseProblem& problem,
                      std::span<const double>) const override {
    Division division(round, problem);
    return division.run();
  }

 private:
  class Division {
   public:
    Division(const Round& round, const ChooseProblem& problem)
        : problem_(problem), free_(problem.capacity), shares_(problem.jobs()) {
      for (size_t j = 0; j < shares_.size(); ++j) {
        shares_[j].work = believed_work_left(*round.bidders[j].job, round.state->now);
      }
    }

    ChooseResult run() {
      for (size_t j = 0; j < shares_.size(); ++j) shares_[j].next = find_next(j);
      for (;;) {
        size_t first = shares_.size();
        for (size_t j = 0; j < shares_.size(); ++j) {
          if (shares_[j].next == kNoOption) continue;
          if (!fits(j, option(shares_[j].next))) shares_[j].next = find_next(j);
          if (shares_[j].next == kNoOption) continue;
          if (first == shares_.size() || before(j, first)) first = j;
        }
        if (first == shares_.size()) break;
        take(first);
      }
      ChooseResult result;
      for (const Share& share : shares_) {
        result.choice.push_back(share.taken);
        if (share.taken != kNoOption) result.value += option(share.taken).value;
      }
      result.bound = result.value;
      return result;
    }

   private:
    const ChooseOption& option(std::int32_t index) const {
      return problem_.options[static_cast<size_t>(index)];
    }
    const ChooseOption& next(size_t j) const { return option(shares_[j].next); }
    double speed(size_t j) const {
      return shares_[j].taken == kNoOption ? 0 : option(shares_[j].taken).value;
    }

    bool fits(size_t j, const ChooseOption& to) const {
      const std::int32_t taken = shares_[j].taken;
      const bool own = taken != kNoOption && option(taken).type == to.type;
      return to.devices <= free_[to.type] + (own ? option(taken).devices : 0);
    }

    // The step up that gains most speed per device more, among those that fit; for a job without
    // anything the fastest of its smallest offers.
    std::int32_t find_next(size_t j) const {
      const Share& share = shares_[j];
      const bool none = share.taken == kNoOption;
      std::int32_t best = kNoOption;
      double best_gain = 0;
      for (std::uint32_t i = problem_.first_option[j]; i < problem_.first_option[j + 1]; ++i) {
        const ChooseOption& to = problem_.options[i];
        if (to.value <= speed(j) || !fits(j, to)) continue;
        const std::int32_t more = to.devices - (none ? 0 : option(share.taken).devices);
        const double gain = (to.value - speed(j)) / std::max(more, 1);
        const bool smaller = none && best != kNoOption && to.devices < option(best).devices;
        const bool larger = none && best != kNoOption && to.devices > option(best).devices;
        if (smaller || (!larger && gain > best_gain)) {
          best = static_cast<std::int32_t>(i);
          best_gain = gain;
        }
      }
      return best;
    }

    // May the next step be j's rather than k's?
    bool before(size_t j, size_t k) const {
      const bool j_has = shares_[j].taken != kNoOption, k_has = shares_[k].taken != kNoOption;
      if (j_has != k_has) return k_has;
      if (!j_has) {
        return shares_[j].work / next(j).value < shares_[k].work / next(k).value;
      }
      const bool j_shorter = shares_[j].work / speed(j) < shares_[k].work / speed(k);
      const size_t s = j_shorter ? j : k, l = j_shorter ? k : j;
      const double gain_l = gain_per_device(l) / next(l).value;
      const double gain_s = gain_per_device(s) / speed(s);
      return (gain_l > gain_s ? l : s) == j;
    }

    double gain_per_device(size_t j) const {
      const ChooseOption& to = next(j);
      const std::int32_t more = to.devices - option(shares_[j].taken).devices;
      return (to.value - speed(j)) / std::max(more, 1);
    }

    void take(size_t j) {
      const std::int32_t index = shares_[j].next;
      const std::int32_t before = shares_[j].taken;
      if (before != kNoOption) free_[option(before).type] += option(before).devices;
      free_[option(index).type] -= option(index).devices;
      shares_[j].taken = index;
      shares_[j].next = find_next(j);
      if (before == kNoOption || option(before).type == option(index).type) return;
      // What it left on the other type may be a step for somebody who had none.
      for (size_t k = 0; k < shares_.size(); ++k) {
        if (shares_[k].next == kNoOption) shares_[k].next = find_next(k);
      }
    }

    const ChooseProblem& problem_;
    std::vector<std::int64_t> free_;
    std::vector<Share> shares_;
  };
};

}  // namespace

std::unique_ptr<Value> afs_value() { return std::make_unique<AfsValue>(); }

}  // namespace weft

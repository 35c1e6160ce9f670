// Power caps: how a policy that saves energy sets them, and what a limit on all draw leaves to
// each.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/draft.h"

namespace weft {

struct PowerOptions {
  double limit_w = 0;  // of all devices together, idle ones included; 0: none
  // Jobs without a promise: 1 counts their energy alone, 0 their time alone.
  double energy_weight = 0.5;
};

// Caps are points of the device types' power curves, in whole watts. Types without a curve are
// neither capped nor counted.
class PowerCaps {
 public:
  // Requires: state outlives this.
  PowerCaps(const State& state, const PowerOptions& options);

  // How fast every device of the type may go at the same time, relative to uncapped. What is
  // promised is promised at this speed.
  double sure_speed(TypeId type) const { return sure_speed_[type]; }
  // Devices that must stay idle, whole nodes from the last on, because the limit does not feed all
  // even at their lowest caps; empty: none.
  const Allocation& dark() const { return dark_; }

  // The configurations the job may run on, the one that costs least at its best cap first. With
  // `promised` the cost is energy, else Zeus' (You et al., NSDI '23): energy weighted with
  // `energy_weight` plus the rest of the weight times time at the largest draw of what was asked
  // for.
  std::vector<std::uint16_t> shapes(const JobState& job, bool promised) const;

  // A placed job with what must hold for it.
  struct Holder {
    JobId job = kNoJob;
    bool promised = false;
    Seconds left = 0;  // on what it holds, uncapped; kNever: not known
    Seconds latest_end = kNever;
  };
  // Gives every holder the cap that costs least among those with which it ends by its latest end;
  // the largest if none does. Under a limit nobody is above its sure cap unless all draw allows it,
  // asked in the order of `holders`. Caps are lowered before any is raised.
  void set(Draft& draft, const std::vector<Holder>& holders) const;

 private:
  double cost(const DeviceType& type, double watts, bool promised, double asked) const;
  double wanted_watts(const DeviceType& type, const Holder& holder, double sure) const;
  void darken();

  const State& state_;
  const PowerOptions& options_;
  std::vector<double> sure_watts_, sure_speed_;  // by type
  Allocation dark_;
};

}  // namespace weft

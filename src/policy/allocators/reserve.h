// Allocate by reservation: jobs with deadlines are admitted if they can be kept, and booked ahead.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/allocators/calendar.h"
#include "policy/allocators/power_caps.h"
#include "policy/policy.h"

namespace weft {

struct ReserveOptions {
  Seconds lease = 60;   // devices are booked for whole leases
  bool reject = false;  // what cannot be admitted is rejected instead of run as best effort
  // If given, energy is saved: see below.
  std::optional<PowerOptions> power;
};

// Earliest deadline first with admission, leases and best effort (Chronus, SoCC'21). A job with a
// deadline is admitted if it is believed to end in time on definite devices that are not booked
// meanwhile, or if it and all admitted jobs that wait do so when booked anew in order of deadlines
// (which is tried with at most 32 of them). An admitted job keeps its devices until it ends; when
// one ends early, those that fit move up in order of deadlines. Other jobs run in order of arrival
// on what is left for at least one lease, and are stopped when a booking begins; those that may not
// be stopped start only where nothing is booked before they are believed to end.
// With `power`, what is promised is promised at the speed that the power limit leaves to all
// devices at once, on the configuration that takes least energy among those that end in time, for
// as long as it takes and not for whole leases. A placed job then has the cap that costs least:
// with a promise the least energy that ends it before its deadline and before the next booking of
// its devices, else the least weighted sum of energy and time. Caps are set anew at every decision,
// which costs no restart, so a newcomer finds the devices free as early as without caps from then
// on. Believes the estimates; starts and restarts are taken to cost nothing. Cost: O(n^2 + devices)
// for each admission and each booked job when one ends, n being booked jobs.
class ReservePolicy : public Policy {
 public:
  ReservePolicy(std::string name, ReserveOptions options, std::unique_ptr<Place> place)
      : name_(std::move(name)), options_(options), place_(std::move(place)) {}
  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override;
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  ReserveOptions options_;
  std::unique_ptr<Place> place_;
};

}  // namespace weft

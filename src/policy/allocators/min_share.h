// Allocate by minimum satisfactory share: admission control for elastic jobs with deadlines.
#pragma once

#include <memory>
#include <string>

#include "policy/place.h"
#include "policy/policy.h"

namespace weft {

struct MinShareOptions {
  Seconds restart = 30;  // believed cost of every start and every change of devices
  Seconds lease = 60;    // best effort starts only where nothing is planned for this long
  bool reject = false;   // what cannot be admitted is rejected instead of run as best effort
};

// ElasticFlow (Gu et al., ASPLOS '23). An arriving job with a deadline and an estimate is admitted
// if some share of devices lets it end in time beside what is planned, or if it and all admitted
// jobs do so when planned anew in order of deadlines, each on the smallest share that is enough
// (of more than 32, the 32 whose plans are widest). Jobs without deadline run in order of arrival
// on what is left and give way. Devices nobody needs go to admitted jobs, one step of size at a
// time, to whoever spends the fewest device-seconds more for each device it gets, as long as it
// ends sooner. Plans name definite devices and count a restart for every change, so that with exact
// estimates, no faults and no dearer restarts an admitted job ends in time whatever arrives later.
// Cost: O(n^2 (n + devices)) for each arrival with a deadline, n being admitted jobs, and n times
// that when all are planned anew.
class MinSharePolicy : public Policy {
 public:
  MinSharePolicy(std::string name, MinShareOptions options, std::unique_ptr<Place> place)
      : name_(std::move(name)), options_(options), place_(std::move(place)) {}
  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override;
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  MinShareOptions options_;
  std::unique_ptr<Place> place_;
};

}  // namespace weft

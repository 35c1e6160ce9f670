// Allocate by progressive filling: whoever has least of what it needs most is served next.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/place.h"
#include "policy/policy.h"

namespace weft {

struct FillOptions {
  std::vector<double> weights;  // by tenant; tenants beyond the list weigh 1
  bool pass = false;            // a job that does not fit is passed instead of ending the filling
};

// Dominant resource fairness (Ghodsi et al., NSDI'11 §4, algorithm 1) over devices, processors and
// host memory. Gangs are the tasks; running jobs are left alone.
// Cost: O(active + started x tenants).
class FillPolicy : public Policy {
 public:
  FillPolicy(std::string name, FillOptions options, std::unique_ptr<Place> place)
      : name_(std::move(name)), options_(std::move(options)), place_(std::move(place)) {}
  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<PolicyMemory>();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  FillOptions options_;
  std::unique_ptr<Place> place_;
};

// Of the devices, processors and host memory of the whole cluster, the largest fraction that the
// tenant's placed jobs hold.
double dominant_share(const State& state, TenantId tenant);

}  // namespace weft

// Allocate by quota: every tenant is sure of its guarantee, and borrows what others leave idle.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/place.h"
#include "policy/policy.h"

namespace weft {

struct QuotaOptions {
  // Weights of the tenants' guarantees, by tenant. Empty: every tenant seen so far weighs the same.
  std::vector<double> shares;
  // The cohort of each tenant, by tenant; tenants beyond the list are in cohort 0.
  std::vector<double> cohorts;
};

// A tree of two levels under the cluster: cohorts of tenants, whose guarantees are devices in
// proportion to their shares. Jobs fall in three classes: within the tenant's guarantee (its oldest
// jobs), borrowed within the cohort's guarantee, borrowed from other cohorts. A class takes devices
// from later classes, youngest jobs first and as whole gangs; nobody takes from its own class.
// While a job within its tenant's guarantee waits, nobody borrows what it needs.
// Cost: O(active jobs) for each call.
class QuotaPolicy : public Policy {
 public:
  QuotaPolicy(std::string name, QuotaOptions options, std::unique_ptr<Place> place)
      : name_(std::move(name)), options_(std::move(options)), place_(std::move(place)) {}
  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override;
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  QuotaOptions options_;
  std::unique_ptr<Place> place_;
};

}  // namespace weft

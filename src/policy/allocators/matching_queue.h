// Allocate by matching: waiting jobs are matched with device types and places in their queues so
// that the mean completion time is least (AlloX, EuroSys 2020).
#pragma once

#include <memory>
#include <string>

#include "policy/place.h"
#include "policy/policy.h"

namespace weft {

struct MatchingOptions {
  std::uint32_t window = 48;  // oldest waiting jobs that are matched; the cost grows with its cube
};

// Running jobs are left alone. A "machine" of a type is as many of its free devices as the jobs in
// the window ask for on average, which is exact for jobs of one size, the paper's case; a type that
// is full counts as one machine that is about to be free.
class MatchingPolicy : public Policy {
 public:
  MatchingPolicy(std::string name, MatchingOptions options, PackedPlace place)
      : name_(std::move(name)), options_(options), place_(place) {}
  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<PolicyMemory>();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  MatchingOptions options_;
  PackedPlace place_;
};

}  // namespace weft

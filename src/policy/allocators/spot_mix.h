// Allocate by class of node: cheap revocable nodes while the deadline allows, steady ones when not.
#pragma once

#include <memory>
#include <string>

#include "policy/policy.h"

namespace weft {

struct SpotMixOptions {
  // What a move costs, as believed: jobs return to spot nodes only when this much ahead, and take
  // an on-demand node for good when this much slack is left.
  Seconds changeover = 60;
};

// Uniform progress ("Can't Be Late", NSDI'24 §4): a job whose deadline leaves time T for C seconds
// of work should have done t * C / T after t seconds. Spot devices are used whenever they are free.
// A job without them waits while it is ahead of that line and takes on-demand devices once it is
// behind; it goes back to spot when it is two changeovers ahead (hysteresis). When the slack falls
// to two changeovers it stays on on-demand devices until it ends (safety net). Jobs are served by
// deadline; one that is behind takes on-demand devices from jobs without a deadline. Jobs without a
// deadline use spot devices, or on-demand ones if the spot nodes could never hold them.
class SpotMixPolicy : public Policy {
 public:
  SpotMixPolicy(std::string name, SpotMixOptions options)
      : name_(std::move(name)), options_(options) {}

  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<PolicyMemory>();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  SpotMixOptions options_;
};

}  // namespace weft

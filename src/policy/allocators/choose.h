// Allocate by choice: in rounds, one configuration per job or none, such that the total value is as
// large as the devices allow (Optimus, AFS, Pollux, Sia).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/composition.h"
#include "policy/place.h"
#include "policy/policy.h"
#include "policy/values/value.h"

namespace weft {

struct ChooseOptions {
  Seconds round = 60;  // decisions are made at multiples of this
  // What a restart is believed to cost jobs that do not tell.
  Seconds restart = 30;
};

struct ChooseMemory : PolicyMemory {
  // Offers of one job with their speeds, good as long as its report is the same.
  struct Beliefs {
    std::shared_ptr<const GoodputReport> report;
    std::vector<Offer> offers;
  };
  std::vector<Beliefs> beliefs;             // by job
  std::vector<double> price;                // of the last round: where the solver starts
  std::vector<std::uint32_t> node_devices;  // of the largest nodes, by type
  Seconds next_round = -1;                  // below 0: nothing was there to decide about
};

// Services have first claim on devices, as many as their load needs. Jobs that are not preemptible,
// still restarting or hold parts of devices keep what they hold. Between rounds nothing changes
// but when nodes come or go.
class ChoosePolicy : public Policy {
 public:
  ChoosePolicy(std::string name, ChooseOptions options, std::unique_ptr<Value> value)
      : name_(std::move(name)), options_(options), value_(std::move(value)) {}

  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<ChooseMemory>();
  }
  const std::string& name() const override { return name_; }

 private:
  friend class ChooseRound;
  std::string name_;
  ChooseOptions options_;
  std::unique_ptr<Value> value_;
};

// Settings of allocate 'choose': value (sia, pollux, optimus, afs), round, restart, and for sia
// power and unplaced.
Result<std::unique_ptr<Policy>> assemble_choose(const Composition& composition);

}  // namespace weft

// The seam between the controller and every scheduler.
#pragma once

#include <memory>
#include <string>

#include "policy/draft.h"
#include "policy/state.h"

namespace weft {

// What a policy remembers between calls: order of the queue, time received, leases. A value owned
// by the controller; a policy object itself has no state.
class PolicyMemory {
 public:
  virtual ~PolicyMemory() = default;
};

// Decides what should change. The same object serves the live controller and the simulator, so it
// looks only at its arguments: no clock, no I/O, no state of its own.
class Policy {
 public:
  virtual ~Policy() = default;

  // Requires: `change` names everything that differs from the previous call with this memory; in
  // the first, every job that has not ended has arrived, also those that hold something already
  // (the controller restarted, or another policy was in force).
  // Ensures: only jobs the draft touched change; no device over 100 %; gangs whole.
  // Cost: O(changed log n) for list policies; share and choose policies work in rounds.
  virtual void decide(Draft& draft, const Change& change, PolicyMemory& memory) const = 0;
  virtual std::unique_ptr<PolicyMemory> new_memory() const = 0;
  virtual const std::string& name() const = 0;
};

}  // namespace weft

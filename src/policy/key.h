// Key, the second part of a policy: who comes first?
#pragma once

#include <compare>

#include "policy/state.h"

namespace weft {

// Smaller comes first, lexicographically; ties go to the lower JobId, which is the older job.
struct KeyValue {
  double first = 0, second = 0, third = 0;
  auto operator<=>(const KeyValue&) const = default;
};

class Key {
 public:
  virtual ~Key() = default;

  virtual KeyValue of(const State& state, const JobState& job) const = 0;

  // When does a key change without an event that names the job?
  enum class Drift {
    kFixed,    // fixed at submission
    kStepped,  // only of placed jobs, in steps, at next_step()
    kRunning,  // of placed jobs, continuously
    kAlways,   // of every job
  };
  virtual Drift drift() const { return Drift::kFixed; }
  // Differs from the last call's answer when the keys of all jobs have changed at once, as those of
  // a key that learns from ended jobs do now and then.
  virtual std::uint64_t version(const State&) const { return 0; }
  // Drift::kStepped: when the key of this running job changes next if it goes on running.
  virtual Seconds next_step(const State&, const JobState&) const { return kNever; }
};

}  // namespace weft

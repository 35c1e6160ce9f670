// The keys that policies are composed with; each says what its numbers mean.
#pragma once

#include <memory>
#include <vector>

#include "policy/key.h"

namespace weft {

// Order of submission.
std::unique_ptr<Key> arrival_key();
// Larger priority first, then order of submission.
std::unique_ptr<Key> priority_key();
// Least believed seconds left; with `whole`, least believed seconds in all, which never changes.
// `by_devices` weighs the time with the devices asked for.
std::unique_ptr<Key> remaining_key(bool whole, bool by_devices);
// Multi-level feedback (Tiresias, NSDI'19 §3.2): a job sinks to the next queue when its attained
// service passes the next of `thresholds`. Inside a queue placed jobs come first, so that equals do
// not preempt each other, then order of submission. Service counts device-seconds, or seconds if
// not `by_devices`.
std::unique_ptr<Key> attained_key(std::vector<double> thresholds, bool by_devices);
// Largest Gittins index first (Tiresias, NSDI'19 §3.3), of the service that ended jobs got, at
// bounds `quantum`, 2 `quantum`, 4 `quantum`, … device-seconds. Indices less than a factor of
// `resolution` apart are one grade; within a grade least attained service first, placed jobs before
// waiting ones, then order of submission. Less than `learn_after` ended jobs, in all or beyond a
// bound, teach nothing.
std::unique_ptr<Key> gittins_key(double quantum, double resolution, double learn_after);
// The index itself: the largest ratio, over the bounds beyond `attained`, of the chance to end
// before the bound to the expected service until then. 0 if no service is larger.
double gittins_index(const std::vector<double>& services, double quantum, double attained);
// Earliest deadline first; jobs without one come last, in order of submission.
std::unique_ptr<Key> deadline_key();

}  // namespace weft

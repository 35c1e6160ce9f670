// The outer optimizer: what is done with the average of the ways that ranks went. Ways carry each
// rank's weight and number of steps, so that FedAvg, FedNova, FedAdam, SlowMo and DiLoCo are
// settings of one rule (sync/mode.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sync/mode.h"

namespace weft::sync {

// One step on a part of the parameters, all spans of the same length:
//   kMomentum  u = momentum u + way;                     agreed -= lr u
//   kNesterov  u = momentum u + way;                     agreed -= lr (way + momentum u)
//   kAdam      u = momentum u + (1 - momentum) way;
//              v = beta2 v + (1 - beta2) way²;           agreed -= lr u / (√v + epsilon)
// Adam without bias correction, as FedAdam has it (Reddi et al. 2021). With
// in_units_of_lr, u = momentum u + way / inner_lr and agreed -= lr inner_lr u, SlowMo's rule (Wang
// et al. 2020); the unit matters only while inner_lr changes.
// `u` may be empty without momentum, `v` without Adam. Requires: inner_lr > 0. Cost: one pass.
template <typename T>
void outer_step(const OuterRule& rule, double inner_lr, std::span<const T> way, std::span<T> agreed,
                std::span<T> u, std::span<T> v);

// Whether the rule needs u, and v.
bool needs_momentum(const OuterRule& rule);
bool needs_second_moment(const OuterRule& rule);

}  // namespace weft::sync

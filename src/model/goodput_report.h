// What an elastic job tells its scheduler: how fast it believes it would train on other gangs.
// Pollux (OSDI 2021, section 4.1) has each job's agent fit this from what the job has shown; Sia
// (SOSP 2023, section 3.2) adds one model per device type.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/goodput.h"

namespace weft {

struct GoodputReport {
  struct OnType {
    BatchLimits limits;
    int node_devices = 1;         // of the type's largest nodes
    double one_replica_rate = 0;  // samples per second, profiled beforehand; 0: cannot run there
    int most_replicas = 0;        // of the gangs that ran here so far
    std::optional<StepTimeModel> model;
  };
  std::vector<OnType> on_types;         // by TypeId
  std::optional<StepTimeModel> pooled;  // fitted to all types together, for those blind to types
  std::optional<GradientNoise> noise;   // of the last step
  Seconds restart_s = 0;                // between getting devices and the first step there
  std::uint32_t serial = 0;             // larger is newer
};

// Useful steps per second of the gang with its best batch size; 0 if no batch size is allowed. A
// type without a model of its own borrows that of the first type that has one, scaled by the ratio
// of their profiled rates (Sia, section 3.2). Nothing when no type has a model.
std::optional<double> believed_goodput(const GoodputReport& report, TypeId type, Gang gang);

// The same for a scheduler that does not tell types apart; limits are those of the first type.
std::optional<double> pooled_goodput(const GoodputReport& report, Gang gang);

// Replicas that the job may be given: twice as many as it has shown on any type, for beyond that
// the models extrapolate too far, and not more than its largest batch size feeds (Sia,
// section 3.4).
int replicas_limit(const GoodputReport& report);

}  // namespace weft

// What users submit. Everything here is what a controller may know before work starts; how long the
// work really takes is in trace.h, and only the simulator reads that.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/cluster.h"

namespace weft {

// What one step of a configuration sends, for the flow model.
struct Traffic {
  enum class Pattern : std::uint8_t { kNone, kAllReduce, kAllToAll, kPipeline, kParameterServer };
  Pattern pattern = Pattern::kNone;
  Bytes bytes_per_step = 0;
  double phase = 0;  // where in the step it begins, 0..1
  bool operator==(const Traffic&) const = default;
};

// One way to run a workload. A policy chooses it by its index in the menu and looks only at
// demand, rate, memory and power; the labels are for the executor.
struct Configuration {
  // Demand, for each replica.
  TypeId type = kAnyType;
  std::uint32_t devices = 1;
  std::uint32_t milli = kWhole;  // of each device; below kWhole the device is shared
  Bytes device_memory = 0;       // on each device
  std::uint32_t cpu_milli = 0;   // beside each device
  Bytes host_memory = 0;         // beside each device
  double storage_bytes_per_s = 0;
  double network_guarantee = 0;  // bytes per second, each device
  double network_limit = 0;      // 0: none
  Level pack = Level::kCluster;  // all devices in one domain of this level
  bool pack_required = true;     // false: a preference

  // Belief: work units per second when alone on fully packed, uncapped devices.
  double rate = 1;
  double scattered_rate = 0;  // when spread over more nodes than needed; 0: as `rate`
  double seconds_per_step = 0;
  double work_per_step = 0;
  double efficiency = 1;    // statistical: progress per work unit
  double watts_cap = 0;     // each device; 0: uncapped
  std::uint32_t batch = 0;  // fixed total batch size; 0: the job's own, tuned to what it holds
  Traffic traffic;

  // Labels.
  std::string parallelism, codec, sync, collective;
  bool operator==(const Configuration&) const = default;
};

// Ensures: at least one configuration; configuration 0 is the one the user asked for.
struct Menu {
  std::vector<Configuration> configurations;
  bool operator==(const Menu&) const = default;
};

enum class WorkloadKind : std::uint8_t { kTraining, kService, kTask };

enum class EstimateSource : std::uint8_t { kNone, kOracle, kUser, kHistory, kNoisy };

// Seconds the job is believed to need on configuration 0, and who says so.
struct Estimate {
  Seconds duration = std::numeric_limits<double>::quiet_NaN();
  EstimateSource source = EstimateSource::kNone;
  bool known() const { return !std::isnan(duration); }
};

// How a job changes its batch size as it trains, and with it its speed: by gradient norms
// (Accordion) or by gradient noise (GNS), the modes of Shockwave's traces (Zheng et al., NSDI '23).
enum class Adaptation : std::uint8_t { kNone, kAccordion, kNoiseScale };

struct Submission {
  std::string name;
  WorkloadKind kind = WorkloadKind::kTraining;
  TenantId tenant = 0;
  ModelId model = kNoModel;   // row of the pair tables
  std::int32_t priority = 0;  // larger is more urgent
  double weight = 1;
  Seconds submit = 0;
  Seconds deadline = kNever;  // absolute
  Estimate estimate;
  // Work units in all, as submitted (steps of a trace, samples); 0: not known beforehand.
  double declared_work = 0;
  bool preemptible = true;
  bool spot_ok = true;
  // Elastic jobs may run on any configuration of the menu, others only on 0.
  bool elastic = false;
  // A running one takes more or fewer devices without being ended: its ranks come and go one by
  // one, each with one device.
  bool in_place = false;
  // Services: how many replicas of the configuration, and the load one replica carries is its rate.
  std::uint32_t min_replicas = 1;
  std::uint32_t max_replicas = 1;
  Seconds latency_objective = 0;
  Adaptation adaptation = Adaptation::kNone;
  // Shared: one menu serves every like job of a trace.
  std::shared_ptr<const Menu> menu;

  const Configuration& requested() const { return menu->configurations.front(); }
};

}  // namespace weft

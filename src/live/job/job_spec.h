// What a user asks for when submitting a job, as plain values: no defaults are left to guess, no
// text is left to parse. docs/jobs.md describes every field.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "control/back_off.h"
#include "model/cluster.h"
#include "model/workload.h"

namespace weft::live {

// `count` devices on each node. An empty type: any.
struct AcceleratorChoice {
  std::string type;
  std::uint32_t count = 1;
  bool operator==(const AcceleratorChoice&) const = default;
};

// On each node. `…_or_more`: what is written is guaranteed, and idle capacity may be used beyond;
// without it, it is also the limit.
struct JobResources {
  std::vector<AcceleratorChoice> accelerators = {{}};  // alternatives, the first is preferred
  double cpus = 0;                                     // 0: not stated
  bool cpus_or_more = false;
  Bytes memory = 0;  // 0: not stated
  bool memory_or_more = false;
  bool use_spot = false;
  std::string notice_signal;  // when a spot node gives notice; empty: the checkpoint's
  bool operator==(const JobResources&) const = default;
};

// How a policy's stop is carried out: by the signal, or by holding the ranks where they are.
enum class Preemption : std::uint8_t { kCheckpoint, kFreeze };

struct CheckpointRule {
  std::string signal = "SIGTERM";  // asks for a checkpoint and an end
  Seconds grace = 30;              // from the signal to SIGKILL
  std::string dir;
  Preemption preempt = Preemption::kCheckpoint;
  bool operator==(const CheckpointRule&) const = default;
};

// A part of each device; both 0: whole devices.
struct DeviceShareRule {
  Bytes memory = 0;
  double percent = 0;
  bool operator==(const DeviceShareRule&) const = default;
};

// Bytes per second on each node; 0: none.
struct BandwidthRule {
  double guarantee = 0;
  double limit = 0;
  bool operator==(const BandwidthRule&) const = default;
};

// All devices in one domain of a level.
struct TopologyRule {
  std::optional<Level> level;
  bool required = false;  // else preferred
  bool operator==(const TopologyRule&) const = default;
};

enum class DependencyCondition : std::uint8_t { kOk, kAny, kFailed };

// `job` is a name (the latest job of that name), or a uuid.
struct JobDependency {
  std::string job;
  DependencyCondition when = DependencyCondition::kOk;
  bool operator==(const JobDependency&) const = default;
};

// first, first + step, … up to last.
struct ArrayRange {
  std::uint32_t first = 0, last = 0, step = 1;
  bool operator==(const ArrayRange&) const = default;
};

struct JobArray {
  std::vector<ArrayRange> ranges;  // empty: no array
  std::uint32_t at_once = 0;       // members that may run at the same time; 0: all
  bool operator==(const JobArray&) const = default;
};

struct JobDeadline {
  enum class Kind : std::uint8_t { kNone, kAfterSubmission, kAt };
  Kind kind = Kind::kNone;
  double seconds = 0;  // after submission, or since 1970 (UTC)
  bool operator==(const JobDeadline&) const = default;
};

// After a failure of the job's own. Lost nodes and preemption always lead to a restart.
struct RetryRule {
  std::uint32_t max = 3;
  Seconds backoff = 10;  // from the second failure in a row on; doubles with every one
  Seconds max_backoff = 600;
  bool operator==(const RetryRule&) const = default;
  BackOff back_off() const { return {backoff, max_backoff}; }
};

enum class HangAction : std::uint8_t { kReport, kRestart };

// Hung: no step for `factor` times the median step, and for `at_least`. factor 0: never.
struct HangRule {
  double factor = 10;
  Seconds at_least = 60;
  HangAction action = HangAction::kReport;
  bool operator==(const HangRule&) const = default;
};

struct ServiceRule {
  std::uint32_t min_replicas = 1, max_replicas = 1;
  double target_qps_per_replica = 0;  // 0: not stated, the number of replicas stays
  std::uint16_t port = 0;             // 0: none
  Seconds latency_objective = 0;      // 0: none
  bool operator==(const ServiceRule&) const = default;
};

enum class Optimizer : std::uint8_t { kUnknown, kSgd, kAdam };

// What a step of training takes, for a menu of codecs and sync modes that a cost model fills.
struct ModelRule {
  double parameters = 0;  // that are trained, in float32; 0: not stated
  Seconds compute = 0;    // of a rank in a step
  Optimizer optimizer = Optimizer::kUnknown;
  bool operator==(const ModelRule&) const = default;
  // As in codec/efficiency.h; nothing: not known.
  std::optional<bool> adaptive() const {
    if (optimizer == Optimizer::kUnknown) return std::nullopt;
    return optimizer == Optimizer::kAdam;
  }
};

// How the size of an elastic job changes: by a checkpoint and a restart, or rank by rank.
enum class Resizing : std::uint8_t { kRestart, kInPlace };

enum class ControllerLoss : std::uint8_t { kContinue, kStop };

// In place of a codec or a sync mode: the cost model chooses, from what `model` says before the job
// starts, or else from what the ranks measure while they train.
inline constexpr const char* kAutomatic = "auto";

struct JobSpec {
  std::string name;
  WorkloadKind kind = WorkloadKind::kTraining;
  JobResources resources;
  std::uint32_t num_nodes = 1;
  std::uint32_t workers_per_node = 0;              // ranks on each node; 0: one for each device
  std::uint32_t min_workers = 0, max_workers = 0;  // of all nodes; both 0: not elastic
  Resizing resize = Resizing::kRestart;            // elastic jobs only
  std::string setup, run, workdir;
  std::map<std::string, std::string> envs;
  std::int32_t priority = 0;
  std::string queue = "default";
  JobDeadline deadline;
  Seconds time = 0;  // how long the user believes it takes; 0: not stated
  bool preemptible = true;
  CheckpointRule checkpoint;
  DeviceShareRule share;
  BandwidthRule bandwidth;
  TopologyRule topology;
  // Labels that may be chosen from, the first is asked for; or kAutomatic alone.
  std::vector<std::string> sync, codec;
  ModelRule model;
  std::vector<JobDependency> depends_on;
  JobArray array;
  ControllerLoss on_controller_loss = ControllerLoss::kContinue;
  RetryRule retries;
  HangRule hang;
  ServiceRule service;  // services only
  bool operator==(const JobSpec&) const = default;

  std::uint32_t devices_per_node() const { return resources.accelerators.front().count; }
  // Ranks on each node as asked.
  std::uint32_t ranks_per_node() const {
    return workers_per_node == 0 ? devices_per_node() : workers_per_node;
  }
  std::uint32_t workers() const { return num_nodes * ranks_per_node(); }
  bool automatic_codec() const { return codec == std::vector<std::string>{kAutomatic}; }
  bool automatic_sync() const { return sync == std::vector<std::string>{kAutomatic}; }
  bool elastic() const { return max_workers > 0; }
};

// Words of the file format, by value of the enumeration.
inline constexpr const char* kKindNames[] = {"training", "service", "task"};
inline constexpr const char* kLevelNames[] = {"node", "leaf", "rack", "pod", "cluster"};
inline constexpr const char* kConditionNames[] = {"ok", "any", "failed"};
inline constexpr const char* kPreemptionNames[] = {"checkpoint", "freeze"};
inline constexpr const char* kResizingNames[] = {"restart", "in_place"};
inline constexpr const char* kOptimizerNames[] = {"unknown", "sgd", "adam"};
inline constexpr const char* kHangActionNames[] = {"report", "restart"};
inline constexpr const char* kControllerLossNames[] = {"continue", "stop"};

}  // namespace weft::live

// Every field of a job once, with its limits, for whoever reads or writes one: YAML and JSON, and
// the random jobs of tests. A field that is missing here exists nowhere.
#pragma once

#include "live/job/job_spec.h"

namespace weft::live {

inline constexpr std::size_t kMaxJobFileBytes = std::size_t{512} << 10;
inline constexpr std::size_t kMaxScriptBytes = std::size_t{256} << 10;
inline constexpr std::size_t kMaxNameBytes = 100;
inline constexpr std::size_t kMaxPathBytes = 4095;
inline constexpr std::size_t kMaxLabels = 8;
inline constexpr std::size_t kMaxLabelBytes = 200;
inline constexpr std::size_t kMaxAlternatives = 16;
inline constexpr std::size_t kMaxEnvs = 1000;
inline constexpr std::size_t kMaxEnvBytes = std::size_t{128} << 10;  // all names and values
inline constexpr std::size_t kMaxDependencies = 1000;
inline constexpr std::int64_t kMaxArrayMembers = 10'000;
inline constexpr std::int64_t kMaxArrayIndex = 4'000'000;
inline constexpr std::size_t kMaxConfigurations = 256;  // sizes x types x sync x codec
inline constexpr std::int64_t kMaxNodes = 100'000;
inline constexpr std::int64_t kMaxWorkers = 1'000'000;
inline constexpr std::int64_t kMaxWorkersPerNode = 4096;
inline constexpr std::int64_t kMaxPriority = 1'000'000;
inline constexpr std::int64_t kMaxReplicas = 10'000;
inline constexpr double kMaxCpus = 1e6;
inline constexpr double kMaxMemory = 0x1p50;   // bytes
inline constexpr double kMaxBandwidth = 1e15;  // bytes per second
inline constexpr Seconds kMaxDuration = 1e9;

// What runs, and on how much. Requires: as visit_job().
template <typename Visitor, typename Spec>
void visit_demand(Visitor& v, Spec& job) {
  v.text("name", job.name, kMaxNameBytes);
  v.choice("kind", job.kind, kKindNames);
  v.group("resources", [&] {
    auto& resources = job.resources;
    v.accelerators("accelerators", resources.accelerators);
    v.cores("cpus", resources.cpus, resources.cpus_or_more);
    v.amount("memory", resources.memory, resources.memory_or_more);
    v.flag("use_spot", resources.use_spot);
    v.signal("notice_signal", resources.notice_signal);
  });
  v.integer("num_nodes", job.num_nodes, 1, kMaxNodes);
  v.integer("workers_per_node", job.workers_per_node, 1, kMaxWorkersPerNode);
  v.integer("min_workers", job.min_workers, 1, kMaxWorkers);
  v.integer("max_workers", job.max_workers, 1, kMaxWorkers);
  v.choice("resize", job.resize, kResizingNames);
  v.text("setup", job.setup, kMaxScriptBytes);
  v.text("run", job.run, kMaxScriptBytes);
  v.text("workdir", job.workdir, kMaxPathBytes);
  v.envs("envs", job.envs);
}

// When, where, and what happens to it on the way. Requires: as visit_job().
template <typename Visitor, typename Spec>
void visit_rules(Visitor& v, Spec& job) {
  v.integer("priority", job.priority, -kMaxPriority, kMaxPriority);
  v.text("queue", job.queue, kMaxNameBytes);
  v.deadline("deadline", job.deadline);
  v.seconds("time", job.time, kMaxDuration);
  v.flag("preemptible", job.preemptible);
  v.group("checkpoint", [&] {
    v.signal("signal", job.checkpoint.signal);
    v.seconds("grace", job.checkpoint.grace, 86'400);
    v.text("dir", job.checkpoint.dir, kMaxPathBytes);
    v.choice("preempt", job.checkpoint.preempt, kPreemptionNames);
  });
  v.group("share", [&] {
    v.size("memory", job.share.memory);
    v.number("percent", job.share.percent, 0.1, 100);
  });
  v.group("bandwidth", [&] {
    v.rate("guarantee", job.bandwidth.guarantee);
    v.rate("limit", job.bandwidth.limit);
  });
  v.topology("topology", job.topology);
  v.labels("sync", job.sync);
  v.labels("codec", job.codec);
  v.group("model", [&] {
    v.number("parameters", job.model.parameters, 1, 1e13);
    v.seconds("compute", job.model.compute, 1e6);
    v.choice("optimizer", job.model.optimizer, kOptimizerNames);
  });
  v.dependencies("depends_on", job.depends_on);
  v.array("array", job.array);
  v.choice("on_controller_loss", job.on_controller_loss, kControllerLossNames);
  v.group_or_integer("retries", "max", [&] {  // `retries: 5` is short for `retries: {max: 5}`
    v.integer("max", job.retries.max, 0, 1000);
    v.seconds("backoff", job.retries.backoff, 86'400);
    v.seconds("max_backoff", job.retries.max_backoff, 86'400);
  });
  v.group("hang", [&] {
    v.number("factor", job.hang.factor, 0, 1e6);
    v.seconds("at_least", job.hang.at_least, 86'400);
    v.choice("action", job.hang.action, kHangActionNames);
  });
  v.group("service", [&] {
    v.fixed_replicas("replicas", job.service.min_replicas, job.service.max_replicas);
    v.group("replica_policy", [&] {
      v.integer("min_replicas", job.service.min_replicas, 0, kMaxReplicas);
      v.integer("max_replicas", job.service.max_replicas, 1, kMaxReplicas);
      v.number("target_qps_per_replica", job.service.target_qps_per_replica, 1e-6, 1e9);
    });
    v.integer("port", job.service.port, 1, 65'535);
    v.seconds("latency_objective", job.service.latency_objective, 3600);
  });
}

// Calls one member of the visitor for each field. What each member gets is its field, and its
// limits where the type does not state them. A field's default is always admitted, also where it
// stands for "not stated" and lies outside the limits. Requires: Spec is JobSpec or const JobSpec.
template <typename Visitor, typename Spec>
void visit_job(Visitor& v, Spec& job) {
  visit_demand(v, job);
  visit_rules(v, job);
}

}  // namespace weft::live

// How the controller's values are kept as bytes (base/archive.h), for journals and images.
#pragma once

#include "base/archive.h"
#include "control/command.h"
#include "control/decision.h"
#include "control/event.h"

namespace weft {

template <typename Archive>
void persist(Archive& io, Traffic& t) {
  persist_enum(io, t.pattern, Traffic::Pattern::kParameterServer);
  io(t.bytes_per_step, t.phase);
}

template <typename Archive>
void persist(Archive& io, Configuration& c) {
  io(c.type, c.devices, c.milli, c.device_memory, c.cpu_milli, c.host_memory);
  io(c.storage_bytes_per_s, c.network_guarantee, c.network_limit);
  persist_enum(io, c.pack, Level::kCluster);
  io(c.pack_required, c.rate, c.scattered_rate, c.seconds_per_step, c.work_per_step);
  io(c.efficiency, c.watts_cap, c.batch, c.traffic);
  io(c.parallelism, c.codec, c.sync, c.collective);
}

template <typename Archive>
void persist(Archive& io, Menu& menu) {
  io(menu.configurations);
  if constexpr (Archive::kReads) {
    if (menu.configurations.empty()) io.fail();
  }
}

template <typename Archive>
void persist(Archive& io, Estimate& e) {
  io(e.duration);
  persist_enum(io, e.source, EstimateSource::kNoisy);
}

// One number for both, as it was when there was nothing between no and yes.
template <typename Archive>
void persist_elasticity(Archive& io, Submission& s) {
  std::uint8_t how = s.in_place ? 2 : s.elastic ? 1 : 0;
  io(how);
  if constexpr (Archive::kReads) {
    if (how > 2) io.fail();
    s.elastic = how > 0;
    s.in_place = how == 2;
  }
}

template <typename Archive>
void persist(Archive& io, Submission& s) {
  io(s.name);
  persist_enum(io, s.kind, WorkloadKind::kTask);
  io(s.tenant, s.model, s.priority, s.weight, s.submit, s.deadline, s.estimate, s.declared_work);
  io(s.preemptible, s.spot_ok);
  persist_elasticity(io, s);
  io(s.min_replicas, s.max_replicas, s.latency_objective);
  persist_enum(io, s.adaptation, Adaptation::kNoiseScale);
  io(s.menu);
  if constexpr (Archive::kReads) {
    if (s.menu == nullptr) io.fail();
  }
}

template <typename Archive>
void persist(Archive& io, BatchLimits& b) {
  io(b.initial, b.largest, b.local_min, b.local_max);
}

template <typename Archive>
void persist(Archive& io, StepTimeModel& m) {
  io(m.compute_alpha, m.compute_beta, m.between_alpha, m.between_beta, m.inside_alpha);
  io(m.inside_beta, m.overlap);
}

template <typename Archive>
void persist(Archive& io, GradientNoise& n) {
  io(n.squared, n.variance);
}

template <typename Archive>
void persist(Archive& io, GoodputReport::OnType& t) {
  io(t.limits, t.node_devices, t.one_replica_rate, t.most_replicas, t.model);
}

template <typename Archive>
void persist(Archive& io, GoodputReport& r) {
  io(r.on_types, r.pooled, r.noise, r.restart_s, r.serial);
}

template <typename Archive>
void persist(Archive& io, Event& e) {
  io(e.at);
  persist_enum(io, e.kind, EventKind::kHold);
  persist_enum(io, e.outcome, Outcome::kFailed);
  io(e.job, e.epoch, e.number, e.node, e.device, e.value, e.value2, e.submission, e.report);
  io(e.estimate);
  if constexpr (Archive::kReads) {
    if ((e.kind == EventKind::kSubmit) != (e.submission != nullptr)) io.fail();
  }
}

template <typename Archive>
void persist(Archive& io, DeviceShare& s) {
  io(s.device, s.milli, s.partition, s.memory);
}

template <typename Archive>
void persist(Archive& io, HostShare& s) {
  io(s.node, s.cpu_milli, s.memory, s.storage_bytes_per_s, s.network_guarantee, s.network_limit);
}

template <typename Archive>
void persist(Archive& io, Allocation& a) {
  io(a.configuration, a.watts_cap, a.replicas, a.devices, a.hosts);
}

template <typename Archive>
void persist(Archive& io, Decision& d) {
  io(d.held, d.rejected, d.wake);
}

template <typename Archive>
void persist(Archive& io, Closure& c) {
  io(c.number, c.node, c.from, c.until, c.for_tenant, c.tenant);
}

// A command that outlives the call it was made in.
struct KeptCommand {
  CommandKind kind = CommandKind::kNone;
  JobId job = kNoJob;
  std::uint32_t epoch = 0, number = 0;
  Seconds deadline = kNever;
  Allocation allocation;  // empty for a stop
  bool operator==(const KeptCommand&) const = default;
};

inline KeptCommand kept(const Command& c) {
  return {c.kind,   c.job,      c.epoch,
          c.number, c.deadline, c.allocation != nullptr ? *c.allocation : Allocation{}};
}

template <typename Archive>
void persist(Archive& io, KeptCommand& c) {
  persist_enum(io, c.kind, CommandKind::kResize);
  io(c.job, c.epoch, c.number, c.deadline, c.allocation);
}

}  // namespace weft

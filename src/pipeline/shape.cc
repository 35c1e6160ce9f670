#include "pipeline/shape.h"

#include <fmt/core.h>

#include <cmath>

#include "pipeline/faults.h"

namespace weft::pipeline {
namespace {

constexpr std::size_t kMaxRoutes = 8;

bool part(double value) { return value >= 0 && value <= 1; }

Status check_counts(const Schedule& s) {
  struct Count {
    const char* name;
    int value, low, high;
  };
  for (const Count& count :
       {Count{"devices", s.devices, 1, kMaxDevices}, Count{"chunks", s.chunks, 1, kMaxChunks},
        Count{"micro_batches", s.micro_batches, 1, kMaxMicroBatches},
        Count{"slices", s.slices, 1, kMaxSlices},
        Count{"staleness", s.staleness, 0, kMaxMicroBatches},
        Count{"weight_versions", s.weight_versions, 1, kMaxMicroBatches}}) {
    if (count.value < count.low || count.value > count.high) {
      return fault(fmt::format("{} is {}; it must lie in {} .. {}", count.name, count.value,
                               count.low, count.high));
    }
  }
  std::int64_t ops = 0;
  for (const auto& program : s.programs) ops += static_cast<std::int64_t>(program.size());
  if (ops > kMaxOps) {
    return fault(fmt::format("there are {} operations; at most {} are allowed", ops, kMaxOps));
  }
  // Each work takes a forward and a backward pass, so this also bounds the works.
  const double works = 1.0 * s.micro_batches * s.chunks * s.slices;
  if (works > static_cast<double>(ops)) {
    return fault(fmt::format("there are {} operations for {} works; each work has its passes once",
                             ops, works));
  }
  return {};
}

Status check_routes(const Schedule& s) {
  if (s.routes.empty() || s.routes.size() > kMaxRoutes) {
    return fault(
        fmt::format("there are {} routes; there must be 1 .. {}", s.routes.size(), kMaxRoutes));
  }
  for (std::size_t r = 0; r < s.routes.size(); ++r) {
    if (s.routes[r].size() != static_cast<std::size_t>(s.chunks)) {
      return fault(fmt::format("routes[{}] has {} entries; there are {} chunks", r,
                               s.routes[r].size(), s.chunks));
    }
    for (const int device : s.routes[r]) {
      if (device < 0 || device >= s.devices) {
        return fault(fmt::format("routes[{}] names device {}; there are {}", r, device, s.devices));
      }
    }
  }
  if (!s.route_of.empty() && s.route_of.size() != static_cast<std::size_t>(s.micro_batches)) {
    return fault(fmt::format("route_of has {} entries; there are {} micro-batches",
                             s.route_of.size(), s.micro_batches));
  }
  for (const int route : s.route_of) {
    if (route < 0 || static_cast<std::size_t>(route) >= s.routes.size()) {
      return fault(fmt::format("route_of names route {}; there are {}", route, s.routes.size()));
    }
  }
  return {};
}

Status check_list(const std::vector<double>& list, const char* name, std::size_t want,
                  bool may_be_empty) {
  if (list.size() != want && !(may_be_empty && list.empty())) {
    return fault(fmt::format("{} has {} entries; {} are needed", name, list.size(), want));
  }
  for (const double value : list) {
    if (!sound(value)) {
      return fault(fmt::format("{} has {}; it must be finite and not negative", name, value));
    }
  }
  return {};
}

Status check_lists(const Schedule& s) {
  const auto chunks = static_cast<std::size_t>(s.chunks);
  const auto devices = static_cast<std::size_t>(s.devices);
  if (s.programs.size() != devices) {
    return fault(fmt::format("there are {} programs for {} devices", s.programs.size(), s.devices));
  }
  Status status = check_list(s.activation, "activation", chunks, false);
  if (status.ok()) status = check_list(s.limits, "limits", devices, true);
  if (status.ok()) status = check_list(s.transfer_seconds, "transfer_seconds", chunks - 1, true);
  if (status.ok() && !(part(s.checkpoint_part) && part(s.weight_part))) {
    return fault(fmt::format("checkpoint_part is {} and weight_part {}; both must lie in 0 .. 1",
                             s.checkpoint_part, s.weight_part));
  }
  if (status.ok() && !sound(s.idle_watts)) {
    return fault(fmt::format("idle_watts is {}; it must be finite and not negative", s.idle_watts));
  }
  if (status.ok() && s.listed_transfers && !s.transfer_seconds.empty()) {
    return fault("transfer_seconds is given and transfers are listed; they carry their own times");
  }
  return status;
}

Status check_work(const Schedule& s, const Work& work) {
  if (work.micro_batch < 0 || work.micro_batch >= s.micro_batches || work.chunk < 0 ||
      work.chunk >= s.chunks || work.slice < 0 || work.slice >= s.slices) {
    return fault(
        fmt::format("micro-batch {}, chunk {}, slice {} does not exist; there are {}, {} and {}",
                    work.micro_batch, work.chunk, work.slice, s.micro_batches, s.chunks, s.slices));
  }
  return {};
}

Status check_op(const Schedule& s, int device, const Op& op) {
  if (static_cast<int>(op.kind) >= kKinds) return fault("an operation is of no known kind");
  Status status = check_work(s, op.work);
  if (status.ok()) status = check_work(s, op.other);
  if (!status.ok()) return status;
  if (!sound(op.seconds) || !sound(op.joules)) {
    return fault(fmt::format("it takes {} s and {} J; both must be finite and not negative",
                             op.seconds, op.joules));
  }
  if (op.version < 0) return fault(fmt::format("weight version {} does not exist", op.version));
  const bool transfer = op.kind == Kind::kSend || op.kind == Kind::kReceive;
  if (transfer && !s.listed_transfers) {
    return fault("it is a transfer, but the schedule does not declare listed_transfers");
  }
  const int lowest = transfer ? 0 : kHost;
  if (op.peer < lowest || op.peer >= s.devices || op.peer == device) {
    return fault(fmt::format("device {} cannot be its peer", op.peer));
  }
  if (op.codec < 0 || static_cast<std::size_t>(op.codec) > s.codecs.size()) {
    return fault(fmt::format("codec {} does not exist; there are {}", op.codec, s.codecs.size()));
  }
  return {};
}

}  // namespace

Status check_shape(const Schedule& s) {
  for (Status (*check)(const Schedule&) : {check_counts, check_routes, check_lists}) {
    if (const Status status = check(s); !status.ok()) return status;
  }
  for (int d = 0; d < s.devices; ++d) {
    const auto& program = s.programs[static_cast<std::size_t>(d)];
    for (std::size_t i = 0; i < program.size(); ++i) {
      const Status status = check_op(s, d, program[i]);
      if (!status.ok()) {
        return fault(fmt::format("device {}, operation {} ({}): {}", d, i, name_of(program[i].kind),
                                 status.error().what));
      }
    }
  }
  return {};
}

}  // namespace weft::pipeline

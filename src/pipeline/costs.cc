#include "pipeline/costs.h"

#include <fmt/core.h>

#include <cmath>

#include "pipeline/faults.h"

namespace weft::pipeline {
namespace {

Status check(const Schedule& schedule, const Costs& costs) {
  if (costs.chunks.size() != 1 &&
      costs.chunks.size() != static_cast<std::size_t>(schedule.chunks)) {
    return fault(fmt::format("there are times for {} chunks; the schedule has {}",
                             costs.chunks.size(), schedule.chunks));
  }
  if (!costs.slowdown.empty() &&
      costs.slowdown.size() != static_cast<std::size_t>(schedule.devices)) {
    return fault(fmt::format("there are {} slowdowns; the schedule has {} devices",
                             costs.slowdown.size(), schedule.devices));
  }
  std::vector<double> all = {costs.overlapped, costs.recompute, costs.optimizer,
                             costs.transfer,   costs.offload,   costs.idle_watts};
  for (const ChunkCost& cost : costs.chunks) {
    all.insert(all.end(), {cost.forward, cost.backward_input, cost.weight_gradient, cost.watts});
  }
  all.insert(all.end(), costs.slowdown.begin(), costs.slowdown.end());
  for (const double value : all) {
    if (!sound(value)) {
      return fault(fmt::format("a time is {}; times must be finite and not negative", value));
    }
  }
  return {};
}

double seconds_of(const Op& op, const Costs& costs, const ChunkCost& cost, const ChunkCost& other) {
  switch (op.kind) {
    case Kind::kForward:
      return cost.forward;
    case Kind::kBackward:
      return cost.backward_input + cost.weight_gradient;
    case Kind::kBackwardInput:
      return cost.backward_input;
    case Kind::kWeightGradient:
      return cost.weight_gradient;
    case Kind::kForwardBackward:
      return costs.overlapped * (cost.forward + other.backward_input + other.weight_gradient);
    case Kind::kRecompute:
      return costs.recompute * cost.forward;
    default:
      return 0;
  }
}

}  // namespace

Costs even_costs(const Schedule& schedule, const ChunkCost& share) {
  const double part = static_cast<double>(schedule.devices) / schedule.chunks;
  return {.chunks = {{share.forward * part, share.backward_input * part,
                      share.weight_gradient * part, share.watts}}};
}

Status apply_costs(Schedule& schedule, const Costs& costs) {
  if (const Status status = check(schedule, costs); !status.ok()) return status;
  const auto cost_of = [&](const Work& work) -> const ChunkCost& {
    return costs.chunks[costs.chunks.size() == 1 ? 0 : static_cast<std::size_t>(work.chunk)];
  };
  for (std::size_t d = 0; d < schedule.programs.size(); ++d) {
    const double slowdown = costs.slowdown.empty() ? 1 : costs.slowdown[d];
    for (Op& op : schedule.programs[d]) {
      if (op.kind == Kind::kSend) {
        op.seconds = costs.transfer;
      } else if (op.kind == Kind::kOffload || op.kind == Kind::kReload) {
        op.seconds = costs.offload;
      } else if (op.kind == Kind::kOptimizer) {
        op.seconds = costs.optimizer * slowdown;
        op.joules = op.seconds * costs.chunks[0].watts;
      } else {
        op.seconds =
            seconds_of(op, costs, cost_of(op.work), cost_of(op.other)) * slowdown / schedule.slices;
        op.joules = op.seconds * cost_of(op.work).watts;
      }
    }
  }
  schedule.idle_watts = costs.idle_watts;
  schedule.transfer_seconds.clear();
  if (costs.transfer > 0 && !schedule.listed_transfers && schedule.chunks > 1) {
    schedule.transfer_seconds.assign(static_cast<std::size_t>(schedule.chunks) - 1, costs.transfer);
  }
  return {};
}

}  // namespace weft::pipeline

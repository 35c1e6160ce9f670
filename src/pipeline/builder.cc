#include "pipeline/builder.h"

#include "pipeline/costs.h"

namespace weft::pipeline {

Schedule empty_schedule(std::string name, const Request& request, int chunks_per_device) {
  Schedule s;
  s.name = std::move(name);
  s.devices = request.stages;
  s.chunks = request.stages * chunks_per_device;
  s.micro_batches = request.micro_batches;
  auto& route = s.routes.emplace_back();
  for (int c = 0; c < s.chunks; ++c) route.push_back(c % s.devices);
  s.activation.assign(static_cast<std::size_t>(s.chunks), 1.0 / chunks_per_device);
  s.programs.resize(static_cast<std::size_t>(s.devices));
  return s;
}

std::vector<int> folded_route(int devices, int chunks) {
  std::vector<int> route;
  for (int c = 0; c < chunks; ++c) {
    const int along = c % devices;
    route.push_back(c / devices % 2 == 0 ? along : devices - 1 - along);
  }
  return route;
}

void add(Schedule& schedule, int device, Kind kind, const Work& work, int version) {
  Op op;
  op.kind = kind;
  op.work = work;
  op.version = version;
  schedule.programs[static_cast<std::size_t>(device)].push_back(op);
}

Schedule finished(Schedule s) {
  for (int d = 0; d < s.devices; ++d) {
    const auto& program = s.programs[static_cast<std::size_t>(d)];
    if (!program.empty() && program.back().kind == Kind::kOptimizer) continue;
    add(s, d, Kind::kOptimizer, {}, 1);
  }
  // One device's share is what a micro-batch meets there on its own route.
  const Status status = apply_costs(s, even_costs(s, {}));
  CHECK(status.ok());
  return s;
}

}  // namespace weft::pipeline

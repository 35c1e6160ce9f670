#include "planner/exact_pipeline.h"

#include <fmt/format.h>

#include "pipeline/costs.h"
#include "pipeline/schedules.h"
#include "pipeline/solve.h"

namespace weft::planner {

Result<pipeline::Schedule> pipeline_of(const Workload& work, const Layout& l) {
  const std::int64_t operations = 3LL * l.pipeline * l.micro_batches() * std::max(1, l.chunks);
  if (operations > kMostOperations) {
    return Error{
        ErrorKind::kUnsupported,
        fmt::format("the pipeline has {} operations; the limit is {}", operations, kMostOperations),
        "closed forms serve it"};
  }
  pipeline::Request request;
  request.stages = l.pipeline;
  request.micro_batches = l.micro_batches();
  request.chunks = l.chunks;
  auto schedule = pipeline::generate(name_of(l.schedule), request);
  if (!schedule.ok()) return schedule.error();
  const StepParts parts = step_parts(work, l);
  const int chunks = l.pipeline * l.chunks;
  pipeline::Costs costs;
  costs.optimizer = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    LayerTime time = chunk_time(work, l, parts, chunk);
    const Seconds send = chunks > 1 ? send_time(work, l) : 0;
    costs.chunks.push_back({time.forward + send, time.backward_input + send, time.weight_gradient,
                            /*watts=*/0});
  }
  const Status status = pipeline::apply_costs(*schedule, costs);
  if (!status.ok()) return status.error();
  return schedule;
}

Result<Seconds> exact_pipeline_seconds(const Workload& work, const Layout& l) {
  const auto schedule = pipeline_of(work, l);
  if (!schedule.ok()) return schedule.error();
  const auto timeline = pipeline::solve(*schedule);
  if (!timeline.ok()) return timeline.error();
  return timeline->makespan;
}

Seconds formula_pipeline_seconds(const StepTime& t) {
  return t.compute + t.recompute + t.tensor + t.expert + t.pipeline + t.bubble + t.host;
}

}  // namespace weft::planner

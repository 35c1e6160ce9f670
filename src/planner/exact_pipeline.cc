#include "planner/exact_pipeline.h"

#include <fmt/core.h>

#include <algorithm>

#include "pipeline/index.h"
#include "pipeline/memory.h"
#include "pipeline/solve.h"

namespace weft::planner {

Result<pipeline::Schedule> timed_pipeline(std::string_view name, const pipeline::Request& request,
                                          const pipeline::Costs& costs) {
  auto schedule = pipeline::generate(name, request);
  if (!schedule.ok()) return schedule.error();
  const Status status = pipeline::apply_costs(*schedule, costs);
  if (!status.ok()) return status.error();
  return schedule;
}

Result<pipeline::Schedule> pipeline_of(const Workload& work, const Layout& l,
                                       std::int64_t most_operations) {
  const std::int64_t operations = 3LL * l.pipeline * l.micro_batches() * std::max(1, l.chunks);
  if (operations > most_operations) {
    return Error{
        ErrorKind::kUnsupported,
        fmt::format("the pipeline has {} operations; the limit is {}", operations, most_operations),
        "closed forms serve it"};
  }
  pipeline::Request request;
  request.stages = l.pipeline;
  request.micro_batches = l.micro_batches();
  request.chunks = l.chunks;
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
  return timed_pipeline(name_of(l.schedule), request, costs);
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

void replace_passes(StepTime& time, Seconds passes) {
  time.bubble += passes - formula_pipeline_seconds(time);
  if (time.bubble < 0) {
    time.compute += time.bubble;
    time.bubble = 0;
  }
}

namespace {

// From its first to its last operation, of the device with the longest.
Seconds longest_span(const pipeline::Timeline& timeline) {
  Seconds longest = 0;
  for (std::size_t d = 0; d < timeline.busy.size(); ++d) {
    longest = std::max(longest, timeline.busy[d] + timeline.span_idle[d]);
  }
  return longest;
}

// `changes` are of activations: one is what a micro-batch leaves on the whole stage.
StageMemory memory_over_time(const MemoryUse& use, double held,
                             const std::vector<pipeline::MemoryChange>& changes, Seconds makespan) {
  const double moving = use.activations + use.output + use.working;
  const double rounding = moving > 0 ? 1 + use.allowance / moving : 1;
  const double each = held > 0 ? rounding * use.activations / held : 0;
  const double rest = use.total() - rounding * use.activations;
  StageMemory memory;
  memory.most_bytes.assign(kMemoryParts, 0);
  double now = 0;
  int part = 0;
  const auto raise = [&](int at) {
    double& most = memory.most_bytes[static_cast<std::size_t>(at)];
    most = std::max(most, rest + each * now);
  };
  const auto pass_to = [&](int next) {
    for (; part < next; ++part) raise(part);
    raise(part);
  };
  for (const pipeline::MemoryChange& change : changes) {
    pass_to(std::min(kMemoryParts - 1, static_cast<int>(kMemoryParts * change.at / makespan)));
    now += change.amount;
    raise(part);
    if (rest + each * now > memory.peak_bytes) {
      memory.peak_bytes = rest + each * now;
      memory.peak_at = change.at;
    }
  }
  pass_to(kMemoryParts - 1);
  return memory;
}

}  // namespace

Result<ExactStep> exact_step(const Workload& work, const Layout& l, std::int64_t most_operations) {
  const auto schedule = pipeline_of(work, l, most_operations);
  if (!schedule.ok()) return schedule.error();
  const auto index = pipeline::index_schedule(*schedule);
  if (!index.ok()) return index.error();
  const auto timeline = pipeline::solve(*schedule, *index);
  if (!timeline.ok()) return timeline.error();
  ExactStep out{timeline->makespan,
                timeline->idle_fraction,
                timeline->span_idle_fraction,
                timeline->peak_activations,
                {},
                step_time(work, l)};
  const auto changes = pipeline::memory_changes(*schedule, *index, timeline->spans);
  for (int stage = 0; stage < l.pipeline; ++stage) {
    out.memory.push_back(memory_over_time(
        memory_use(work.model, work.framework, l, stage), held_micro_batches(l, stage),
        changes[static_cast<std::size_t>(stage)], timeline->makespan));
  }
  const Seconds passes =
      l.schedule == PipelineKind::kZeroBubble2 ? longest_span(*timeline) : timeline->makespan;
  replace_passes(out.time, passes);
  return out;
}

}  // namespace weft::planner

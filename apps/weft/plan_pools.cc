#include "plan_pools.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/stopwatch.h"
#include "base/table.h"
#include "plan_command.h"
#include "plan_layout.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json describe_plan(const PoolQuestion& q, const planner::PoolPlan& plan) {
  const planner::Layout& l = plan.layout;
  ordered_json out = {{"layout", planner::describe(l)},
                      {"tensor", l.tensor},
                      {"data", l.data},
                      {"pipeline", l.pipeline},
                      {"micro_batch", l.micro_batch},
                      {"micro_batches", l.micro_batches()},
                      {"global_batch", l.global_batch},
                      {"step_s", plan.seconds()},
                      {"exact", plan.exact},
                      {"breakdown_s", ordered_json::object()},
                      {"stages", ordered_json::array()}};
  for (const NamedPart& part : time_parts()) {
    out["breakdown_s"][part.name] = plan.time.*part.seconds;
  }
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const planner::PoolStage& stage = plan.stages[s];
    out["stages"].push_back({{"device", q.pools[stage.pool].machines.device.name},
                             {"first_layer", stage.from},
                             {"layers", stage.layers},
                             {"memory_bytes", plan.memory[s].total()}});
  }
  return out;
}

std::string pools_json(const PoolQuestion& q, const planner::PoolAnswer& answer, double cpu_s) {
  ordered_json out = {{"schema", 1},
                      {"model", q.model.name},
                      {"pools", ordered_json::array()},
                      {"configurations", answer.configurations},
                      {"feasible", answer.feasible},
                      {"cpu_s", cpu_s},
                      {"best", nullptr},
                      {"runner_up", nullptr},
                      {"rejected", answer.rejected},
                      {"ranked", ordered_json::array()}};
  for (const planner::Pool& pool : q.pools) {
    out["pools"].push_back({{"device", pool.machines.device.name}, {"devices", pool.devices}});
  }
  for (const planner::PoolPlan& plan : answer.ranked)
    out["ranked"].push_back(describe_plan(q, plan));
  if (!answer.ranked.empty()) out["best"] = out["ranked"][0];
  if (answer.ranked.size() > 1) out["runner_up"] = out["ranked"][1];
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Table plans_table(const PoolQuestion& q, const planner::PoolAnswer& answer) {
  Table table({"<layout", "<stages", "step s", "vs best", "memory GB", "compute", "recompute",
               "tensor", "pipeline", "data", "bubble", "optimizer"});
  const planner::PoolPlan& best = answer.ranked[0];
  for (const planner::PoolPlan& plan : answer.ranked) {
    const planner::StepTime& t = plan.time;
    const auto part = [&](Seconds s) { return fmt::format("{:.1f}%", 100 * s / t.total()); };
    double most = 0;
    for (const planner::MemoryUse& use : plan.memory) most = std::max(most, use.total());
    const double against =
        plan.seconds() / plan.layout.global_batch / (best.seconds() / best.layout.global_batch);
    table.row({planner::describe(plan.layout) + (&plan == &best ? " ✓" : ""),
               planner::describe_stages(q.pools, plan), three_digits(t.total()),
               fmt::format("{:.3f}x", against), three_digits(most / 1e9), part(t.compute),
               part(t.recompute), part(t.tensor), part(t.pipeline), part(t.data), part(t.bubble),
               part(t.optimizer)});
  }
  return table;
}

}  // namespace

int plan_pools(const PoolQuestion& q) {
  const double before = thread_cpu_seconds();
  const auto answer = planner::search_pools(q.model, q.framework, q.pools, q.batch, q.keep);
  if (!answer.ok()) return report_error("plan search", answer.error());
  const double cpu_s = thread_cpu_seconds() - before;
  if (q.json) std::fputs(pools_json(q, *answer, cpu_s).c_str(), stdout);
  if (answer->ranked.empty()) {
    std::fputs(fmt::format("weft plan search: {} fits nowhere on these pools\n"
                           "  hint: use more devices, or devices with more memory\n",
                           q.model.name)
                   .c_str(),
               stderr);
    return kExitNo;
  }
  if (q.json) return kExitDone;
  const Table table = plans_table(q, *answer);
  std::string text = q.csv ? table.csv() : q.markdown ? table.markdown() : table.text();
  if (!q.csv && !q.markdown) {
    text += fmt::format("\n{} configurations in {:.2f} CPU s\n", answer->configurations, cpu_s);
    for (const auto& [reason, count] : answer->rejected) {
      text += fmt::format("rejected: {} ({})\n", count, reason);
    }
    text +=
        fmt::format("best: {}: {}, {} s per step\n", planner::describe(answer->ranked[0].layout),
                    planner::describe_stages(q.pools, answer->ranked[0]),
                    three_digits(answer->ranked[0].seconds()));
  }
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

}  // namespace weft

#include "plan_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/table.h"
#include "pipeline/recording.h"
#include "pipeline/solve.h"
#include "planner/exact_pipeline.h"

namespace weft {

using nlohmann::ordered_json;

namespace {

constexpr NamedPart kParts[] = {
    {"compute", &planner::StepTime::compute},     {"recompute", &planner::StepTime::recompute},
    {"tensor", &planner::StepTime::tensor},       {"expert", &planner::StepTime::expert},
    {"pipeline", &planner::StepTime::pipeline},   {"data", &planner::StepTime::data},
    {"bubble", &planner::StepTime::bubble},       {"host", &planner::StepTime::host},
    {"optimizer", &planner::StepTime::optimizer}, {"offload", &planner::StepTime::offload},
    {"other", &planner::StepTime::other}};

ordered_json describe_memory(const planner::MemoryUse& m) {
  return {{"weights", m.weights},     {"gradients", m.gradients},
          {"optimizer", m.optimizer}, {"activations", m.activations},
          {"output", m.output},       {"working", m.working},
          {"allowance", m.allowance}, {"host", m.host}};
}

ordered_json describe_exact(const planner::Layout& l, const planner::ExactStep& exact,
                            bool over_time) {
  ordered_json out = {{"schedule", planner::name_of(l.schedule)},
                      {"makespan", exact.makespan},
                      {"idle_fraction", exact.idle_fraction},
                      {"span_idle_fraction", exact.span_idle_fraction},
                      {"peak_activations", exact.peak_activations}};
  if (!over_time) return out;
  out["memory"] = ordered_json::array();
  for (const planner::StageMemory& stage : exact.memory) {
    out["memory"].push_back({{"peak_bytes", stage.peak_bytes},
                             {"peak_at_s", stage.peak_at},
                             {"most_bytes", stage.most_bytes}});
  }
  return out;
}

}  // namespace

std::span<const NamedPart> time_parts() { return kParts; }

ordered_json describe_candidate(const planner::Workload& work, const planner::Candidate& one,
                                bool over_time) {
  const planner::Layout& l = one.layout;
  ordered_json parts = ordered_json::object();
  for (const NamedPart& part : kParts) parts[part.name] = one.time.*part.seconds;
  ordered_json out = {{"layout", planner::describe(l)},
                      {"tensor", l.tensor},
                      {"pipeline", l.pipeline},
                      {"data", l.data},
                      {"context", l.context},
                      {"expert", l.expert},
                      {"chunks", l.chunks},
                      {"micro_batch", l.micro_batch},
                      {"micro_batches", l.micro_batches()},
                      {"global_batch", l.global_batch},
                      {"schedule", planner::name_of(l.schedule)},
                      {"recompute", planner::name_of(l.recompute)},
                      {"exchange", planner::name_of(l.exchange)},
                      {"tensor_overlap", planner::name_of(l.overlap)},
                      {"gather_again", l.gather_again},
                      {"zero", l.zero},
                      {"overlap_gradients", l.overlap_gradients},
                      {"offload_weights", l.offload_weights},
                      {"offload_activations", l.offload_activations},
                      {"offload_optimizer", l.offload_optimizer},
                      {"step_s", one.seconds()},
                      {"samples_per_s", one.seconds() > 0 ? l.global_batch / one.seconds() : 0},
                      {"breakdown_s", parts},
                      {"memory_bytes", one.memory.total()},
                      {"memory", describe_memory(one.memory)}};
  if (one.seconds() > 0) out["flops_utilisation"] = flops_utilisation(work, one);
  out["exact"] = one.exact ? describe_exact(l, *one.exact, over_time) : ordered_json(nullptr);
  return out;
}

double flops_utilisation(const planner::Workload& work, const planner::Candidate& one) {
  const planner::Transformer& m = work.model;
  const double tokens = double(one.layout.global_batch) * m.sequence;
  const double attention = 12.0 * m.layers * m.sequence * m.heads * m.head_size;
  const double flops = tokens * (6 * active_parameters(m) + attention);
  return flops / (one.seconds() * work.machines.device.peak_flops * one.layout.devices());
}

std::string what_would_win(const planner::Candidate& best, const planner::Candidate& second) {
  const Seconds gap = second.seconds() - best.seconds();
  const NamedPart* worst = nullptr;
  for (const NamedPart& part : kParts) {
    const auto more = [&](const NamedPart& p) {
      return second.time.*p.seconds - best.time.*p.seconds;
    };
    if (worst == nullptr || more(part) > more(*worst)) worst = &part;
  }
  const Seconds spends = second.time.*worst->seconds;
  return fmt::format(
      "{:.2f} % slower; it would win with {:.2g} % less time for {} ({} of its {} s)",
      100 * gap / best.seconds(), spends > 0 ? 100 * std::min(1.0, gap / spends) : 0, worst->name,
      three_digits(spends), three_digits(second.seconds()));
}

std::string launch_flags(const planner::Workload& work, const planner::Layout& l) {
  const planner::Transformer& m = work.model;
  const int node = std::min(work.machines.device.node, l.devices());
  std::string text = fmt::format("torchrun --nnodes {} --nproc-per-node {} pretrain_gpt.py",
                                 l.devices() / node, node);
  text += fmt::format(
      " --num-layers {} --hidden-size {} --ffn-hidden-size {} --num-attention-heads {}"
      " --seq-length {} --max-position-embeddings {}",
      m.layers, m.hidden, m.ffn, m.heads, m.sequence, m.sequence);
  if (m.kv_heads != m.heads) {
    text += fmt::format(" --group-query-attention --num-query-groups {}", m.kv_heads);
  }
  if (m.gated) text += " --swiglu --disable-bias-linear --normalization RMSNorm";
  if (!m.tied) text += " --untie-embeddings-and-output-weights";
  text += fmt::format(
      " --tensor-model-parallel-size {} --pipeline-model-parallel-size {} --micro-batch-size {}"
      " --global-batch-size {} --bf16",
      l.tensor, l.pipeline, l.micro_batch, l.global_batch);
  if (l.context > 1) text += fmt::format(" --context-parallel-size {}", l.context);
  if (l.expert > 1) text += fmt::format(" --expert-model-parallel-size {}", l.expert);
  if (m.experts.count > 0) {
    text +=
        fmt::format(" --num-experts {} --moe-router-topk {}", m.experts.count, m.experts.per_token);
  }
  if (l.chunks > 1) {
    text += fmt::format(" --num-layers-per-virtual-pipeline-stage {}",
                        m.layers / l.pipeline / l.chunks);
  }
  if (l.sequence_parallel()) text += " --sequence-parallel";
  if (l.zero >= 1) text += " --use-distributed-optimizer";
  if (l.overlap_gradients) text += " --overlap-grad-reduce";
  if (l.flash_attention) text += " --use-flash-attn";
  if (l.recompute == planner::Recompute::kSelective) text += " --recompute-granularity selective";
  if (l.recompute == planner::Recompute::kFull) {
    text += " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  }
  return text + "\n";
}

Result<TimedPipeline> solved_pipeline(const planner::Workload& work,
                                      const planner::Layout& layout) {
  auto schedule = planner::pipeline_of(work, layout);
  if (!schedule.ok()) return schedule.error();
  auto timeline = pipeline::solve(*schedule);
  if (!timeline.ok()) return timeline.error();
  return TimedPipeline{std::move(*schedule), std::move(*timeline)};
}

Status write_pipeline_charts(const planner::Workload& work, const planner::Candidate& one,
                             const std::string& svg, const std::string& perfetto) {
  auto solved = solved_pipeline(work, one.layout);
  if (!solved.ok()) return solved.error();
  std::vector<TimedPipeline> runs;
  runs.push_back(std::move(*solved));
  Status status;
  if (!svg.empty()) status = write_file_atomically(svg, pipeline_svg(runs));
  if (status.ok() && !perfetto.empty()) {
    status = write_file_atomically(
        perfetto,
        pipeline::write_recordings({pipeline::record(runs[0].schedule, runs[0].timeline)}));
  }
  return status;
}

}  // namespace weft

#include "planner/step_time.h"

#include <algorithm>

#include "planner/exact_pipeline.h"
#include "planner/memory.h"
#include "planner/planner_testing.h"

namespace weft::planner {
namespace {

Layout pipelined(PipelineKind kind, int chunks) {
  Layout l;
  l.tensor = 2;
  l.pipeline = 4;
  l.chunks = chunks;
  l.global_batch = 16;
  l.schedule = kind;
  return placed(l);
}

// Layers that fill the stages evenly, and next to nothing before and after them.
Transformer even_model() { return gpt("even", 24, 2048, 16, 1024, 8); }

TEST(StepTime, ClosedFormsAreTheExactSolversOnEvenStages) {
  const Transformer model = even_model();
  const Machines machines = a100();
  const Framework framework = software("megatron-lm");
  const Workload work{model, machines, framework};
  const struct {
    PipelineKind kind;
    int chunks;
    double tolerance;  // the embedding and sends of chunks that stay on a device
  } rows[] = {{PipelineKind::kGPipe, 1, 0.005},
              {PipelineKind::k1F1B, 1, 0.005},
              {PipelineKind::kInterleaved, 2, 0.01},
              {PipelineKind::kInterleaved, 6, 0.02},
              {PipelineKind::kZeroBubble1, 1, 0.01}};
  for (const auto& row : rows) {
    const Layout l = pipelined(row.kind, row.chunks);
    const auto exact = exact_pipeline_seconds(work, l);
    ASSERT_TRUE(exact.ok()) << exact.error().text();
    const Seconds formula = formula_pipeline_seconds(step_time(work, l));
    EXPECT_NEAR(formula / *exact, 1, row.tolerance) << name_of(row.kind) << " v" << row.chunks;
  }
}

TEST(StepTime, UnevenStagesStayNearTheSolver) {
  const Machines machines = a100();
  const Framework framework = software("megatron-lm");
  for (const int layers : {22, 25, 30}) {
    const Transformer model = gpt("uneven", layers, 2304, 24, 1024, 51200);
    const Workload work{model, machines, framework};
    const Layout l = pipelined(PipelineKind::k1F1B, 1);
    const auto exact = exact_pipeline_seconds(work, l);
    ASSERT_TRUE(exact.ok()) << exact.error().text();
    EXPECT_NEAR(formula_pipeline_seconds(step_time(work, l)) / *exact, 1, 0.03) << layers;
  }
}

// 1F1B on 4 stages and 8 micro-batches: stage s fills up to 4 - s micro-batches and empties again.
TEST(ExactStep, MemoryOverTimeRisesToTheFormulasPeakAndFalls) {
  const Transformer model = even_model();
  const Machines machines = a100();
  const Framework framework = software("megatron-lm");
  const Workload work{model, machines, framework};
  const Layout l = pipelined(PipelineKind::k1F1B, 1);
  const auto exact = exact_step(work, l);
  ASSERT_TRUE(exact.ok()) << exact.error().text();
  EXPECT_NEAR(exact->time.total(),
              exact->makespan + exact->time.data + exact->time.optimizer + exact->time.other, 1e-9);
  for (int stage = 0; stage < 4; ++stage) {
    const auto s = static_cast<std::size_t>(stage);
    EXPECT_DOUBLE_EQ(exact->peak_activations[s], 4 - stage);
    const MemoryUse use = memory_use(model, framework, l, stage);
    EXPECT_NEAR(exact->memory[s].peak_bytes, use.total(), 1e-6 * use.total());
    const auto& most = exact->memory[s].most_bytes;
    const double rest = use.total() - 1.03 * use.activations;
    EXPECT_NEAR(most.front(), rest + (stage == 0 ? 1.03 * use.activations / 4 : 0),
                1e-6 * use.total());
    EXPECT_LT(most.back(), use.total());
  }
}

TEST(StepTime, RecomputationCostsTime) {
  const Transformer model = model_named("gpt3-13b");
  const Machines machines = a100();
  const Framework framework = software("megatron-lm");
  const Workload work{model, machines, framework};
  Layout l;
  l.tensor = 8;
  l.global_batch = 8;
  l = placed(l);
  Seconds before = 0;
  for (const Recompute kind : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    l.recompute = kind;
    const StepTime time = step_time(work, l);
    EXPECT_GT(time.total(), before) << name_of(kind);
    EXPECT_EQ(time.recompute > 0, kind != Recompute::kNone);
    before = time.total();
  }
}

TEST(StepTime, BetterMachinesAreNeverSlower) {
  const Transformer model = model_named("mixtral-8x7b");
  const Framework framework = software("megatron-core");
  Layout l;
  l.tensor = 2;
  l.pipeline = 2;
  l.data = 16;
  l.expert = 8;
  l.zero = 1;
  l.global_batch = 64;
  l.flash_attention = true;
  l = placed(l);
  const Machines usual = a100();
  const Seconds before = step_time({model, usual, framework}, l).total();
  Machines better[] = {usual, usual, usual, usual};
  better[0].device.peak_flops *= 2;
  better[1].device.memory_bytes_per_s *= 2;
  better[2].device.link_bytes_per_s *= 2;
  better[3].network.card_bytes_per_s *= 2;
  for (const Machines& machines : better) {
    EXPECT_LT(step_time({model, machines, framework}, l).total(), before);
  }
}

TEST(StepTime, TheHostBoundsSmallLayers) {
  Framework slow = software("megatron-lm");
  slow.host_forward_s = slow.host_backward_s = 1e-3;
  const Transformer model = even_model();
  const Machines machines = a100();
  Layout l;
  l.global_batch = 1;
  l = placed(l);
  const BlockCost block = layer_cost({model, machines, slow}, l, false);
  const LayerTime layer = layer_time(block, slow, Recompute::kNone);
  EXPECT_DOUBLE_EQ(layer.forward, 1e-3 * block.forward_launches);
  EXPECT_NEAR(layer.total(), 1e-3 * (block.forward_launches + block.backward_launches), 1e-12);
  EXPECT_NEAR(layer.compute + layer.tensor + layer.recompute + layer.host, layer.total(), 1e-12);
}

// One micro-batch of one stage: what does not fit beside the two passes stays, by hand.
TEST(StepTime, OffloadedActivationsShareTheWayToTheHost) {
  const Transformer model = even_model();
  Machines machines = a100();
  const Framework framework = software("megatron-lm");
  Layout l;
  l.data = 16;
  l.global_batch = 16;
  l.offload_activations = true;
  l = placed(l);
  const Workload work{model, machines, framework};
  const double bytes = model.layers * layer_activation_bytes(model, l, false);
  const LayerTime layer = step_parts(work, l).dense;
  const EndCost ends = step_parts(work, l).ends;
  const Seconds forward = 24 * layer.forward + ends.embedding + ends.output_forward;
  const Seconds backward =
      24 * (layer.backward_input + layer.weight_gradient) + ends.output_backward;
  const auto left = [&](double rate) {
    machines.device.host_bytes_per_s = rate;
    return step_time(work, l).offload;
  };
  EXPECT_EQ(left(1e12), 0);
  const double slow = bytes / forward;  // alone as long as the forward pass, with two twice that
  EXPECT_NEAR(left(slow), forward + std::max(0.0, 2 * forward - backward), 1e-6 * forward);
  machines.device.host_sharers = 1;
  EXPECT_NEAR(left(slow), 0, 1e-6 * forward);
  // Gathering weights for every pass takes the device's own link meanwhile.
  l.zero = 3;
  EXPECT_GT(left(slow), 0.01 * forward);
}

// Megatron-LM's fused softmax serves multiples of four only (heads times samples on a device).
TEST(StepTime, SoftmaxThatCannotBeFusedCostsMore) {
  const Transformer model = gpt("h", 1, 2048, 16, 1024, 8);
  const Machines machines = a100();
  const Framework framework = software("megatron-lm");
  Layout l;
  l.tensor = 8;
  l.micro_batch = l.global_batch = 2;
  l = placed(l);
  const BlockCost fused = layer_cost({model, machines, framework}, l, false);
  l.micro_batch = l.global_batch = 1;
  const BlockCost apart = layer_cost({model, machines, framework}, l, false);
  EXPECT_GT(apart.forward_launches, fused.forward_launches);
}

}  // namespace
}  // namespace weft::planner

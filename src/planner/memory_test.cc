#include "planner/memory.h"

#include "pipeline/schedules.h"
#include "pipeline/solve.h"
#include "planner/planner_testing.h"

namespace weft::planner {
namespace {

struct Published {
  const char* model;
  int pipeline, micro_batch, chunks, batch;
  double weights_gib, none_gib, selective_gib;
};
// Korthikanti et al. 2022: the formulas' values for their four models, tensor parallel size 8.
constexpr Published kPublishedMemory[] = {
    {"megatron-22b", 1, 4, 1, 4, 45.5625, 59.25, 9.5625},
    {"gpt3-175b", 8, 1, 3, 64, 45.5625, 66.84375, 12.3515625},
    {"turing-530b", 35, 1, 3, 280, 31.640625, 114.0234375, 23.076171875},
    {"megatron-1t", 64, 1, 1, 512, 32.958984375, 131.25, 26.5625},
};

TEST(Memory, PapersFormulasExactly) {
  for (const Published& row : kPublishedMemory) {
    Layout l;
    l.tensor = 8;
    l.pipeline = row.pipeline;
    l.micro_batch = row.micro_batch;
    l.chunks = row.chunks;
    l.global_batch = row.batch;
    if (row.chunks > 1) l.schedule = PipelineKind::kInterleaved;
    const auto use = [&] {
      return most_memory(model_named(row.model), software("megatron-lm"), l, MemoryTerms::kPaper);
    };
    EXPECT_DOUBLE_EQ(use().weights / kGiBytes, row.weights_gib) << row.model;
    EXPECT_DOUBLE_EQ(use().activations / kGiBytes, row.none_gib) << row.model;
    l.recompute = Recompute::kSelective;
    l.exchange = TensorExchange::kSequence;
    EXPECT_DOUBLE_EQ(use().activations / kGiBytes, row.selective_gib) << row.model;
  }
}

// Megatron-LM pull request 482, measured on H800 with 2048 tokens per sample.
TEST(Memory, MeasuredLlama2) {
  Transformer llama = model_named("llama2-7b");
  llama.sequence = 2048;
  const struct {
    int tensor, pipeline, data, micro_batch, batch;
    double measured_gb;
  } rows[] = {{1, 2, 4, 2, 2048, 49.8}, {8, 1, 1, 4, 128, 28.8}};
  for (const auto& row : rows) {
    Layout l;
    l.tensor = row.tensor;
    l.pipeline = row.pipeline;
    l.data = row.data;
    l.micro_batch = row.micro_batch;
    l.global_batch = row.batch;
    l.zero = 1;
    l.flash_attention = true;
    const double total = most_memory(llama, software("megatron-core"), l).total();
    EXPECT_NEAR(total / 1e9, row.measured_gb, 0.05 * row.measured_gb);
  }
}

TEST(Memory, ZeroShardsMoreWithEachStage) {
  const Transformer model = model_named("gpt3-13b");
  Layout l;
  l.data = 4;
  l.global_batch = 4;
  const double weights = 40 * layer_parameters(model, 0) + embedding_parameters(model);
  const double want[] = {18, 2 + 4 + 12 / 4.0, 2 + 4 / 4.0 + 12 / 4.0, (2 + 4 + 12) / 4.0};
  for (l.zero = 0; l.zero <= 3; ++l.zero) {
    const MemoryUse use = memory_use(model, software("megatron-lm"), l, 0);
    EXPECT_NEAR((use.weights + use.gradients + use.optimizer) / weights, want[l.zero], 1e-6);
  }
}

TEST(Memory, OffloadedBytesGoToTheHost) {
  const Transformer model = model_named("gpt3-13b");
  Layout l;
  l.global_batch = 1;
  const MemoryUse before = memory_use(model, software("megatron-lm"), l, 0);
  l.offload_optimizer = true;
  const MemoryUse after = memory_use(model, software("megatron-lm"), l, 0);
  EXPECT_DOUBLE_EQ(after.host, before.optimizer);
  EXPECT_LT(after.total(), 0.5 * before.total());
}

// What the closed forms say stages hold is what the exact solver counts.
TEST(Memory, HeldMicroBatchesAreTheSolversPeaks) {
  const struct {
    const char* name;
    PipelineKind kind;
    int chunks;
  } rows[] = {{"gpipe", PipelineKind::kGPipe, 1},
              {"1f1b", PipelineKind::k1F1B, 1},
              {"interleaved", PipelineKind::kInterleaved, 2},
              {"interleaved", PipelineKind::kInterleaved, 3}};
  for (const auto& row : rows) {
    pipeline::Request request;
    request.stages = 4;
    request.micro_batches = 16;
    request.chunks = row.chunks;
    const auto schedule = pipeline::generate(row.name, request);
    ASSERT_TRUE(schedule.ok());
    const auto timeline = pipeline::solve(*schedule);
    ASSERT_TRUE(timeline.ok());
    Layout l;
    l.pipeline = 4;
    l.global_batch = 16;
    l.chunks = row.chunks;
    l.schedule = row.kind;
    for (int stage = 0; stage < 4; ++stage) {
      EXPECT_NEAR(held_micro_batches(l, stage), timeline->peak_activations[stage], 1e-9)
          << row.name << " v" << row.chunks << " stage " << stage;
    }
  }
}

// The last stage needs most device memory here, the first most of the host's.
TEST(Memory, TheHostHoldsWhatTheFirstStageOffloads) {
  const Transformer model = model_named("gpt3-175b");
  const Framework framework = software("megatron-lm");
  Layout l;
  l.tensor = 16;
  l.pipeline = 32;
  l.micro_batch = 16;
  l.global_batch = 16 * 32;
  l.offload_activations = true;
  l = placed(l);
  const MemoryUse first = memory_use(model, framework, l, 0);
  const MemoryUse last = memory_use(model, framework, l, 31);
  ASSERT_GT(last.total(), first.total());
  ASSERT_GT(first.host, last.host);
  EXPECT_DOUBLE_EQ(most_memory(model, framework, l).host, first.host);
}

}  // namespace
}  // namespace weft::planner

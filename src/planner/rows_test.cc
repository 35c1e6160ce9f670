#include "planner/rows.h"

#include "planner/planner_testing.h"

namespace weft::planner {
namespace {

constexpr const char* kVtrain =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
    "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n";
constexpr const char* kPublishedHeader =
    "set,model_B,hidden,heads,layers,seq,vocab,gpu,n_gpus,tp,pp,dp,cp,microbatch,"
    "n_microbatch_or_gbs,recompute,schedule,metric,value\n";

std::string with(const char* header, const std::string& row) { return header + row + "\n"; }

TEST(Rows, VtrainsForm) {
  const auto runs = parse_runs({"v.csv", with(kVtrain, "8,32,4,1024,16,24,1024,2,2,2,219.7")});
  ASSERT_TRUE(runs.ok()) << runs.error().text();
  const TrainingRun& run = runs->at(0);
  EXPECT_EQ(run.framework.name, "megatron-deepspeed");
  EXPECT_EQ(run.model.vocab, 51200);
  EXPECT_EQ(run.layout.micro_batches(), 4);
  EXPECT_EQ(run.layout.recompute, Recompute::kFull);
  EXPECT_EQ(run.layout.zero, 1);
  EXPECT_DOUBLE_EQ(*run.measured_s, 0.2197);
  const auto unmeasured = parse_runs({"v.csv", with(kVtrain, "8,32,4,1024,16,24,1024,2,2,2,")});
  ASSERT_TRUE(unmeasured.ok());
  EXPECT_FALSE(unmeasured->at(0).measured_s.has_value());
}

TEST(Rows, PublishedForm) {
  const auto runs = parse_runs(
      {"p.csv", std::string(kPublishedHeader) +
                    "a,22,6144,64,48,2048,51200,A100-80G,8,8,1,1,1,4,gbs=4,selective+SP,1F1B v=1,"
                    "iter_time_s,1.1\n"
                    "b,175,12288,96,96,2048,51200,A100-80G,64,8,8,1,1,1,gbs=64,full,1F1B v=3,"
                    "iter_time_s,18.13\n"
                    "c,1.5B,2304,24,22,1024,,A100-80G,8,1,8,1,1,6,m=24,none,F1B1I,"
                    "samples_per_GPU_s; mem_GB,13.1; 40\n"
                    "d,7 (Llama2),4096,32,32,,,H800,8,1,2,4,1,2,gbs=2048,,1F1B,memory_GB,49.8\n"
                    "e,530,,,,2048,51200,A100-80G,,,,,,,,,,activations_GiB selective+SP,23\n"});
  ASSERT_TRUE(runs.ok()) << runs.error().text();
  EXPECT_TRUE(runs->at(0).layout.sequence_parallel());
  EXPECT_EQ(runs->at(0).framework.name, "megatron-lm");
  EXPECT_EQ(runs->at(1).layout.schedule, PipelineKind::kInterleaved);
  EXPECT_EQ(runs->at(1).layout.chunks, 3);
  EXPECT_EQ(runs->at(2).layout.chunks, 3);
  EXPECT_DOUBLE_EQ(*runs->at(2).measured_s, 24 * 6 / (13.1 * 8));
  EXPECT_DOUBLE_EQ(*runs->at(2).measured_memory_bytes, 40e9);
  EXPECT_EQ(runs->at(3).model.ffn, 11008);
  EXPECT_EQ(runs->at(3).framework.name, "megatron-core");
  EXPECT_EQ(runs->at(4).layout.pipeline, 35);
  EXPECT_TRUE(runs->at(4).formula);
}

TEST(Rows, TeraflopsBecomeSecondsByThePublishedFormula) {
  const auto runs = parse_runs(
      {"p.csv", with(kPublishedHeader,
                     "s,1.7,2304,24,24,2048,51200,A100-80G,32,1,1,32,1,,gbs=512,full,1F1B(-I),"
                     "TFLOPs_per_GPU(96BslH^2 formula),137")});
  ASSERT_TRUE(runs.ok()) << runs.error().text();
  const double flops =
      96.0 * 512 * 2048 * 24 * 2304 * 2304 * (1 + 2048 / (6.0 * 2304) + 51200 / (16.0 * 24 * 2304));
  EXPECT_NEAR(*runs->at(0).measured_s, flops / (137e12 * 32), 1e-9);
}

TEST(Rows, MistakesAreNamedWithTheirLine) {
  const struct {
    std::string text;
    const char* says;
  } rows[] = {
      {with(kVtrain, "8,32,4,1024,16,24,1024,3,2,2,219"),
       "16 attention heads do not divide over 3"},
      {with(kVtrain, "8,30,4,1024,16,24,1024,2,2,2,219"), "global batch of 30"},
      {with(kVtrain, "16,32,4,1024,16,24,1024,2,2,2,219"), "16 devices"},
      {with(kVtrain, "8,32,x,1024,16,24,1024,2,2,2,219"), "micro batch"},
      {with(kVtrain, "8,32,4,1024,16,24,1024,2,2,2,-1"), "iteration time"},
      {"hidden size,x\n1,2\n", "# GPUs"},
      {"a,b\n1,2\n", "model_B"},
      {with(kPublishedHeader, "a,5,64,8,4,8,64,A1000,8,8,1,1,1,1,gbs=4,none,1F1B,iter_time_s,1"),
       "no device is named"},
      {with(kPublishedHeader, "a,5,64,8,4,8,64,A100,8,8,1,1,1,1,gbs=4,some,1F1B,iter_time_s,1"),
       "recompute"},
      {with(kPublishedHeader, "a,5,64,8,4,8,64,A100,8,8,1,1,1,1,gbs=4,none,1F1B,watts,1"),
       "metric"},
      {with(kPublishedHeader, "a,5,,,,8,64,A100,8,8,1,1,1,1,gbs=4,none,1F1B,iter_time_s,1"),
       "are empty"},
      {"model_B,hidden,heads,layers,gpu,n_gpus,tp,pp,dp,n_microbatch_or_gbs,metric,value\n"
       "5,64,8,4,A100,8,8,1,1,gbs=4,activations_GiB some,1\n",
       "recompute is missing"},
      {kVtrain, "no rows"},
      {"", "empty"},
  };
  for (const auto& row : rows) {
    const auto bad = parse_runs({"rows.csv", row.text});
    ASSERT_FALSE(bad.ok()) << row.text;
    EXPECT_NE(bad.error().text().find(row.says), std::string::npos) << bad.error().text();
  }
}

}  // namespace
}  // namespace weft::planner

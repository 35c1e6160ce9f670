#include "planner/pools.h"

#include <algorithm>

#include "planner/planner_testing.h"

namespace weft::planner {
namespace {

// Next to nothing before and after the layers, and a host that needs no time.
Transformer plain_model() { return gpt("plain", 24, 2048, 16, 1024, 8); }
Framework instant_host() {
  Framework f = software("megatron-lm");
  f.host_forward_s = f.host_backward_s = f.step_s = 0;
  return f;
}

// The same device, `factor` times as fast in everything.
Machines faster(double factor) {
  Machines m = a100();
  m.device.name = "fast";
  m.device.peak_flops *= factor;
  m.device.memory_bytes_per_s *= factor;
  m.device.kernel_s /= factor;
  m.device.link_bytes_per_s *= factor;
  return m;
}

TEST(Pools, TheTwiceAsFastDeviceGetsTwiceTheLayers) {
  const Transformer model = plain_model();
  const Framework framework = instant_host();
  const std::vector<Pool> pools = {{a100(), 1}, {faster(2), 1}};
  const auto answer = search_pools(model, framework, pools, 32, 50);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  const PoolPlan& best = answer->ranked.at(0);
  ASSERT_EQ(best.stages.size(), 2u);
  for (const PoolStage& stage : best.stages) {
    EXPECT_EQ(stage.layers, pools[stage.pool].machines.device.name == "fast" ? 16 : 8);
  }
  // By hand: both stages take 8 slow layers; one micro-batch passes both, the others follow.
  Layout l = best.layout;
  l = placed(l);
  const StepParts parts = step_parts({model, pools[0].machines, framework}, l);
  const Seconds stage = 8 * parts.dense.total();
  const int m = l.micro_batches();
  EXPECT_NEAR(formula_pipeline_seconds(best.time) - best.time.pipeline, stage * (m + 1),
              0.02 * stage * m);
  EXPECT_TRUE(best.exact);
}

TEST(Pools, MemoryBoundsTheLayersOfAStage) {
  const Transformer model = gpt("m", 24, 4096, 32, 1024, 8);
  const Framework framework = instant_host();
  Machines small = faster(8);
  small.device.memory_bytes = 16e9;
  const std::vector<Pool> pools = {{a100(), 1}, {small, 1}};
  const auto answer = search_pools(model, framework, pools, 8, 50);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  const PoolPlan& best = answer->ranked.at(0);
  ASSERT_EQ(best.stages.size(), 2u);
  for (std::size_t s = 0; s < best.stages.size(); ++s) {
    const double limit = pools[best.stages[s].pool].machines.device.memory_bytes;
    EXPECT_LE(best.memory[s].total(), limit);
    // One layer more than the fast device has would not have fitted there.
    if (best.stages[s].pool != 1) continue;
    const int more = best.stages[s].layers + 1, from = std::min(best.stages[s].from, 24 - more);
    EXPECT_GT(slice_memory(model, framework, best.layout, int(s), from, more).total(), limit);
  }
}

TEST(Pools, APoolThatOnlySlowsIsLeftOut) {
  const Transformer model = plain_model();
  const Framework framework = instant_host();
  const std::vector<Pool> pools = {{faster(0.001), 1}, {faster(2), 4}};
  const auto answer = search_pools(model, framework, pools, 32, 50);
  ASSERT_TRUE(answer.ok());
  for (const PoolStage& stage : answer->ranked.at(0).stages) EXPECT_EQ(stage.pool, 1u);
}

// On one pool it is the ordinary search's 1F1B.
TEST(Pools, OnePoolAgreesWithTheFormulas) {
  const Transformer model = plain_model();
  const Framework framework = instant_host();
  const auto answer = search_pools(model, framework, {{a100(), 4}}, 32, 50);
  ASSERT_TRUE(answer.ok());
  for (const PoolPlan& plan : answer->ranked) {
    if (24 % plan.layout.pipeline != 0) continue;
    const Machines machines = a100();
    const Layout l = placed(plan.layout);
    EXPECT_NEAR(plan.seconds() / step_time({model, machines, framework}, l).total(), 1, 0.02)
        << describe(l);
  }
}

TEST(Pools, FilesAreChecked) {
  const auto good = parse_pools({"c.yaml",
                                 "pools:\n  - {device: a100-80, devices: 512}\n"
                                 "  - {device: h100, devices: 256, price_per_hour: 2}\n"});
  ASSERT_TRUE(good.ok()) << good.error().text();
  ASSERT_EQ(good->size(), 2u);
  EXPECT_EQ((*good)[1].devices, 256);
  EXPECT_EQ((*good)[1].machines.network.name, "8xndr");
  EXPECT_TRUE(parse_pools({"c.yaml", "device: h100\n"})->empty());
  for (const char* text :
       {"pools: []\n", "pools:\n  - {device: h100}\n", "pools:\n  - {device: h100, devices: 0}\n",
        "pools:\n  - {device: h1000, devices: 8}\n", "pools:\n  - {devices: 8, speed: 3}\n"}) {
    EXPECT_FALSE(parse_pools({"c.yaml", text}).ok()) << text;
  }
}

}  // namespace
}  // namespace weft::planner

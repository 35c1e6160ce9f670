#include "planner/search.h"

#include <algorithm>

#include "planner/planner_testing.h"
#include "planner/search_space.h"

namespace weft::planner {
namespace {

struct Setting {
  Transformer model;
  Machines machines = a100();
  Framework framework = software("megatron-lm");
  Workload work() const { return {model, machines, framework}; }
};

std::int64_t counted(const Setting& setting, const SearchQuestion& question) {
  std::int64_t count = 0;
  const Workload work = setting.work();
  for_each_family(work, question, [&](const Family& family) {
    count += static_cast<std::int64_t>(family.variants->size());
  });
  return count;
}

// The numbers that Calculon prints for the same models, devices and batch.
TEST(SearchSpace, CalculonsKnobsInCalculonsNumbers) {
  const SearchQuestion question{4096, 4096, SearchSpace::kCalculon};
  EXPECT_EQ(counted({model_named("gpt3-175b")}, question), 7'126'368);
  EXPECT_EQ(counted({model_named("megatron-1t")}, question), 7'276'848);
}

TEST(SearchSpace, Divisors) {
  EXPECT_EQ(divisors(1), (std::vector<int>{1}));
  EXPECT_EQ(divisors(36), (std::vector<int>{1, 2, 3, 4, 6, 9, 12, 18, 36}));
}

// The memoised search against every configuration computed from nothing.
TEST(Search, FindsWhatBruteForceFinds) {
  for (const SearchSpace space : {SearchSpace::kOwn, SearchSpace::kCalculon}) {
    for (const char* name : {"gpt3-2.7b", "mixtral-8x7b"}) {
      const Setting setting{model_named(name)};
      const Workload work = setting.work();
      const SearchQuestion question{16, 32, space};
      Seconds best = kNever;
      std::int64_t all = 0, feasible = 0;
      for_each_family(work, question, [&](const Family& family) {
        for (const Variant& variant : *family.variants) {
          ++all;
          Layout l = family.layout;
          l.overlap_gradients = variant.overlap_gradients;
          l.overlap = variant.overlap;
          l.placement = variant.placement;
          const Placement& p = l.placement;
          if (p.tensor * p.data * p.pipeline > 8) continue;
          if (l.chunks > 1 && l.micro_batches() % l.pipeline != 0) continue;
          const MemoryUse memory = most_memory(work.model, work.framework, l);
          if (memory.total() > work.machines.device.memory_bytes) continue;
          if (memory.host > work.machines.host_memory_bytes) continue;
          ++feasible;
          best = std::min(best, step_time(work, l).total() * 32 / l.global_batch);
        }
      });
      const auto answer = search(work, question);
      ASSERT_TRUE(answer.ok());
      EXPECT_EQ(answer->configurations, all);
      EXPECT_EQ(answer->feasible, feasible);
      ASSERT_FALSE(answer->ranked.empty());
      EXPECT_DOUBLE_EQ(answer->ranked[0].seconds(), best) << name;
      std::int64_t rejected = 0;
      for (const auto& [reason, count] : answer->rejected) rejected += count;
      EXPECT_EQ(rejected + feasible, all);
    }
  }
}

TEST(Search, FrontTradesMemoryForTime) {
  const Setting setting{model_named("gpt3-13b")};
  const auto answer = search(setting.work(), {32, 64, SearchSpace::kOwn});
  ASSERT_TRUE(answer.ok());
  ASSERT_GT(answer->pareto.size(), 1u);
  for (std::size_t i = 1; i < answer->pareto.size(); ++i) {
    EXPECT_LT(answer->pareto[i].seconds(), answer->pareto[i - 1].seconds());
  }
  EXPECT_LE(answer->pareto.back().seconds(), answer->ranked[0].seconds() / 0.995);
}

TEST(Search, SaysWhatIsNearestWhenNothingFits) {
  const Setting setting{model_named("megatron-1t")};
  const auto answer = search(setting.work(), {8, 8, SearchSpace::kOwn});
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->ranked.empty());
  ASSERT_TRUE(answer->nearest.has_value());
  EXPECT_GT(answer->nearest->memory.total(), setting.machines.device.memory_bytes);
}

TEST(Search, ImpossibleNumbersOfDevicesAreAnError) {
  const Setting setting{model_named("gpt3-125m")};
  const auto answer = search(setting.work(), {1009, 8, SearchSpace::kOwn});
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().what.find("1009 devices"), std::string::npos);
}

TEST(Search, TheBestAreSolvedExactly) {
  const Setting setting{model_named("gpt3-13b")};
  const Workload work = setting.work();
  auto answer = search(work, {64, 256, SearchSpace::kOwn});
  ASSERT_TRUE(answer.ok());
  solve_best(work, *answer);
  double before = 0;
  for (const Candidate& one : answer->ranked) {
    EXPECT_GE(seconds_per_sample(one), before);
    before = seconds_per_sample(one);
    ASSERT_TRUE(one.exact.has_value()) << describe(one.layout);
    const StepTime formula = step_time(work, one.layout);
    EXPECT_NEAR(one.seconds() / formula.total(), 1, 0.06) << describe(one.layout);
    ASSERT_EQ(one.exact->memory.size(), static_cast<std::size_t>(one.layout.pipeline));
    EXPECT_LE(one.exact->memory[0].peak_bytes, 1.001 * one.memory.total());
  }
}

}  // namespace
}  // namespace weft::planner

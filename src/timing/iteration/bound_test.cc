#include "timing/iteration/bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "timing/iteration/iteration_testing.h"
#include "timing/iteration/scheduler.h"

namespace weft {
namespace {

// The largest over all subsets of least head + work + least tail.
Seconds by_subsets(const std::vector<HeadTail>& work) {
  Seconds most = 0;
  for (std::uint32_t mask = 1; mask < (1u << work.size()); ++mask) {
    Seconds head = kNever, tail = kNever, sum = 0;
    for (std::size_t i = 0; i < work.size(); ++i) {
      if ((mask >> i & 1) == 0) continue;
      head = std::min(head, work[i].head);
      tail = std::min(tail, work[i].tail);
      sum += work[i].work;
    }
    most = std::max(most, head + sum + tail);
  }
  return most;
}

TEST(PreemptiveMakespan, EqualsTheWorstSubset) {
  EXPECT_EQ(preemptive_makespan({}), 0);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<HeadTail> work(1 + random.below(8));
    for (HeadTail& one : work) {
      one = {10 * random.uniform(), 3 * random.uniform(), 10 * random.uniform()};
    }
    EXPECT_NEAR(preemptive_makespan(work), by_subsets(work), 1e-9);
  }
}

struct BoundRow {
  const char* why;
  std::vector<LayerSpec> layers;
  double bytes_per_s;
  Seconds overhead, latency, want;
};

TEST(IdealIteration, HandComputed) {
  const std::vector<BoundRow> table = {
      {"computation is all there is", {{"a", 1, 2, 0, 0, {}}, {"b", 1, 2, 0, 0, {}}}, 1, 0, 0, 6},
      {"a short gradient of the first layer is exposed", {{"a", 1, 2, 1, 0, {}}}, 1, 0, 0, 4},
      {"that of the last layer hides", {{"a", 1, 2, 0, 0, {}}, {"b", 1, 2, 1, 0, {}}}, 1, 0, 0, 6},
      // b's bytes can flow from 2 on; a's must from 4 to 5; forward a ends at 6, b needs 12 bytes.
      {"bytes are all there is but the ends",
       {{"a", 1, 2, 1, 0, {}}, {"b", 1, 2, 12, 0, {}}},
       1,
       0,
       0,
       2 + 13 + 1},
      {"one overhead and one latency", {{"a", 1, 2, 1, 0, {}}}, 1, 0.5, 0.25, 4.75},
  };
  for (const BoundRow& row : table) {
    SCOPED_TRACE(row.why);
    const TestJob job = chain_job(row.layers, row.bytes_per_s, row.overhead, row.latency);
    EXPECT_NEAR(ideal_iteration(job.graph, job.links), row.want, 1e-12);
  }
}

TEST(IdealIteration, SmallSlicesByFirstUseComeArbitrarilyClose) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<LayerSpec> layers(1 + random.below(10));
    for (LayerSpec& layer : layers) {
      layer.forward = random.uniform();
      layer.backward = 2 * random.uniform();
      layer.gradient_bytes = 1000 * random.exponential(1);
    }
    const TestJob job = chain_job(layers, 1000 * random.uniform(0.1, 2));
    const Seconds ideal = ideal_iteration(job.graph, job.links);
    TransferPlan plan = sliced_plan(job.graph, 1, first_use(job.graph));
    plan.credit_bytes = 0;
    EXPECT_GE(iteration_alone(job, plan), ideal * (1 - 1e-9));
    EXPECT_LE(iteration_alone(job, plan), ideal * 1.01);
  }
}

// Slices of random sizes joined at random, with random keys and ranks.
TransferPlan random_plan(const IterationGraph& graph, Random& random) {
  TransferPlan plan;
  plan.concurrent = random.chance(0.3);
  plan.credit_bytes = random.chance(0.5) ? kNoLimit : 1e6 * random.uniform();
  for (std::uint32_t i = 0; i < graph.ops.size(); ++i) {
    const IterationOp& op = graph.ops[i];
    if (!op.is_transfer || op.follows != kNoOp) continue;
    for (double bytes : slice_sizes(op.amount, op.amount * random.uniform(0.1, 1.1))) {
      // Only gradients of layers: no transfer waits for another of these.
      const bool gradient = op.name.starts_with("gradient l") || op.name.starts_with("push l");
      const bool joins = gradient && random.chance(0.2) && !plan.blocks.empty() &&
                         plan.blocks.back().wire == op.place;
      if (joins) {
        plan.blocks.back().pieces.push_back({i, bytes});
      } else {
        plan.blocks.push_back({op.place,
                               {{i, bytes}},
                               random.uniform(),
                               static_cast<std::uint32_t>(random.below(3))});
      }
    }
  }
  return plan;
}

TEST(IdealIteration, NoPlanIsFaster) {
  int close = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const TestJob job = random_job(random);
    const Seconds ideal = ideal_iteration(job.graph, job.links);
    const Seconds took = iteration_alone(job, random_plan(job.graph, random));
    EXPECT_GE(took, ideal * (1 - 1e-9));
    close += took < 1.2 * ideal ? 1 : 0;
  }
  EXPECT_GT(close, 40) << "the bound should be near for many";
}

TEST(IdealIteration, NoSchedulerIsFasterAloneOrBesideOthers) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TrainingFile file;
    const std::uint64_t jobs = 1 + random.below(3);
    for (std::uint64_t j = 0; j < jobs; ++j) {
      TestJob job = random_job(random);
      // All on the links of this one.
      for (IterationWire& wire : job.graph.wires) {
        for (LinkId& link : wire.path) {
          link += static_cast<LinkId>(file.link_bytes_per_s.size());
        }
        if (j > 0 && random.chance(0.7)) wire.path = {0};
      }
      file.link_bytes_per_s.insert(file.link_bytes_per_s.end(), job.links.begin(), job.links.end());
      for (IterationWire& wire : job.graph.wires) {
        wire.bytes_per_s = kNever;
        for (LinkId link : wire.path) {
          wire.bytes_per_s = std::min(wire.bytes_per_s, file.link_bytes_per_s[link]);
        }
      }
      TrainingJob& added = file.jobs.emplace_back();
      added.graph = std::move(job.graph);
      added.start = random.uniform();
      added.iterations_done = random.uniform();
      added.iterations_total = 2;
    }
    file.link_names.resize(file.link_bytes_per_s.size());
    const auto& within = within_schedulers();
    const auto& between = between_schedulers();
    FlowScheduler scheduler;
    scheduler.within = &within[random.below(within.size())];
    scheduler.between = &between[random.below(between.size())];
    const SchedulerRun run = run_flow_scheduler(file, scheduler, 6, false);
    for (std::size_t j = 0; j < run.jobs.size(); ++j) {
      EXPECT_GE(run.jobs[j].iteration, run.jobs[j].ideal);
      EXPECT_GE(run.jobs[j].solo, run.jobs[j].ideal);
      // Also each iteration by itself.
      const std::vector<Seconds>& ends = run.run.jobs[j].ends;
      for (std::size_t k = 1; k < ends.size(); ++k) {
        EXPECT_GE(ends[k] - ends[k - 1], run.jobs[j].ideal * (1 - 1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace weft

#include "timing/iteration/scheduler.h"

#include <gtest/gtest.h>

#include <map>

namespace weft {
namespace {

TrainingFile example(const std::string& name) {
  auto file = read_training_file(std::string(WEFT_FIXTURES) + "/../../examples/flows/" + name);
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().text());
  return std::move(file).value();
}

SchedulerRun run_scheduler(const TrainingFile& file, const std::string& scheduler,
                           std::uint32_t iterations = 20) {
  const auto parsed = parse_flow_scheduler(scheduler);
  EXPECT_TRUE(parsed.ok()) << scheduler;
  return run_flow_scheduler(file, *parsed, iterations, false);
}

TEST(FlowScheduler, ByteSchedulerIsNearTheBoundOnBandwidthBoundVgg) {
  for (const char* const name : {"vgg16.yaml", "vgg16-server.yaml"}) {
    SCOPED_TRACE(name);
    const TrainingFile file = example(name);
    const SchedulerJob fifo = run_scheduler(file, "fifo").jobs[0];
    const SchedulerJob tuned = run_scheduler(file, "bytescheduler").jobs[0];
    EXPECT_LE(tuned.iteration, 1.05 * tuned.ideal);
    EXPECT_GT(fifo.iteration, 1.15 * fifo.ideal) << "there must be something to gain";
  }
}

TEST(FlowScheduler, EachRuleGainsWhereItsPaperSays) {
  struct Row {
    const char *why, *file, *better, *worse;
    double factor;  // at least so much shorter
  };
  const std::vector<Row> table = {
      {"an order alone", "vgg16.yaml", "tac", "fifo", 1.1},
      {"slices that pulls can follow", "vgg16-server.yaml", "p3", "tac", 1.3},
      {"larger slices and more credit than P3", "vgg16.yaml", "bytescheduler", "p3", 1.5},
      {"blocks without a search", "vgg16-server.yaml", "prophet", "p3", 1.1},
      {"priority without credit is no priority", "vgg16.yaml", "bytescheduler",
       "bytescheduler:4096000", 1.15},
      {"ideal finish times across boundaries", "pipeline.yaml", "echelon", "per-flow", 1.03},
      {"activations before gradients", "tensor-parallel.yaml", "echelon", "bytescheduler", 1.05},
  };
  std::map<std::string, TrainingFile> files;
  for (const Row& row : table) {
    SCOPED_TRACE(row.why);
    if (files.count(row.file) == 0) files.emplace(row.file, example(row.file));
    const SchedulerJob better = run_scheduler(files.at(row.file), row.better, 2).jobs[0];
    const SchedulerJob worse = run_scheduler(files.at(row.file), row.worse, 2).jobs[0];
    EXPECT_GE(worse.iteration / better.iteration, row.factor);
  }
}

TEST(FlowScheduler, CassiniInterleavesTwoJobs) {
  const TrainingFile file = example("interleave.yaml");
  const SchedulerRun fair = run_scheduler(file, "fair"), shifted = run_scheduler(file, "cassini");
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_LE(shifted.jobs[j].iteration, 1.03 * shifted.jobs[j].solo);
    EXPECT_GE(fair.jobs[j].iteration, 1.1 * fair.jobs[j].solo) << "there must be contention";
  }
  const SchedulerRun both = run_scheduler(file, "bytescheduler+cassini");
  for (const SchedulerJob& job : both.jobs) EXPECT_LE(job.iteration, 1.03 * job.solo);
}

TEST(FlowScheduler, WeightsByProgressSlideJobsApart) {
  const TrainingFile file = example("interleave.yaml");
  for (const SchedulerJob& job : run_scheduler(file, "mltcp", 40).jobs) {
    EXPECT_LE(job.iteration, 1.01 * job.solo);
  }
}

TEST(FlowScheduler, RanksGoToTheRightJob) {
  TrainingFile file = example("interleave.yaml");
  // No pauses long enough for both: who comes second must show.
  for (TrainingJob& job : file.jobs) {
    for (IterationOp& op : job.graph.ops) op.amount *= op.is_transfer ? 1.5 : 1;
  }
  file.jobs[0].devices = 1;
  struct Row {
    const char* scheduler;
    std::size_t first;
  };
  for (const Row row : {Row{"srpt", 1}, Row{"jpas", 0}, Row{"crux", 1}, Row{"shares", 0}}) {
    SCOPED_TRACE(row.scheduler);
    const SchedulerRun result = run_scheduler(file, row.scheduler);
    EXPECT_LT(result.jobs[row.first].iteration / result.jobs[row.first].solo,
              result.jobs[1 - row.first].iteration / result.jobs[1 - row.first].solo);
  }
  const SchedulerRun one_level = run_scheduler(file, "crux:1"), fair = run_scheduler(file, "fair");
  EXPECT_EQ(one_level.jobs[0].iteration, fair.jobs[0].iteration);
}

TEST(FlowScheduler, ALimitHolds) {
  TrainingFile file = example("interleave.yaml");
  file.jobs.erase(file.jobs.begin());
  file.jobs[0].share = {0, file.link_bytes_per_s[2] / 10};
  double bytes = 0;
  for (const IterationOp& op : file.jobs[0].graph.ops) bytes += op.is_transfer ? op.amount : 0;
  const double wire_bytes = bytes * file.jobs[0].graph.wires[0].factor;
  EXPECT_GE(run_scheduler(file, "shares").jobs[0].iteration, wire_bytes / file.jobs[0].share.limit);
}

TEST(FlowScheduler, ShortIterationsLateInTimeAreStillNearTheBound) {
  const auto file = parse_training_file({"job", R"(
links: [{name: nic, gbit_s: 100}]
jobs:
  - {name: late, path: nic, start_ms: 1e7,
     layers: [{forward_ms: 0.001, backward_ms: 0.001, gradient_mb: 0.01}]}
  - {name: early, path: nic, layers: [{forward_ms: 1000, backward_ms: 1000, gradient_mb: 1}]}
)"});
  ASSERT_TRUE(file.ok()) << file.error().text();
  for (const WithinScheduler& within : within_schedulers()) {
    EXPECT_GT(run_scheduler(*file, std::string(within.name), 3).jobs[0].iteration, 0.9e-6);
  }
}

struct BadScheduler {
  const char *why, *text, *says;
};

TEST(FlowScheduler, BadNamesAreExplained) {
  const std::vector<BadScheduler> table = {
      {"a slip", "bytesheduler", "'bytescheduler'?"},
      {"two of a kind", "p3+tac", "two schedulers of one kind"},
      {"a value that is none", "p3:much", "'much'"},
      {"zero", "crux:0", "'0'"},
      {"too many values", "p3:1/2", "takes 1 values"},
      {"a value for one that takes none", "fifo:3", "takes 0 values"},
      {"nothing", "", "unknown"},
      {"nothing after the sign", "p3+", "unknown"},
      {"many flows with a share for one", "echelon+shares", "many at once"},
  };
  for (const BadScheduler& row : table) {
    SCOPED_TRACE(row.why);
    const auto parsed = parse_flow_scheduler(row.text);
    ASSERT_FALSE(parsed.ok());
    EXPECT_NE(parsed.error().text().find(row.says), std::string::npos) << parsed.error().text();
  }
  const auto both = parse_flow_scheduler("cassini+p3:50000");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->within->name, "p3");
  EXPECT_EQ(both->between->name, "cassini");
  EXPECT_EQ(both->within_values, (std::vector<double>{50000}));
}

}  // namespace
}  // namespace weft

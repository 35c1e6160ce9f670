#include "planner/evaluate.h"

#include <algorithm>

#include "planner/calibrate.h"
#include "planner/minimize.h"
#include "planner/planner_testing.h"

namespace weft::planner {
namespace {

// Runs whose measured time is `factor` times what is predicted.
TrainingRun run_of(const char* set, int data, int micro_batch, double factor) {
  TrainingRun run;
  run.set = set;
  run.model = model_named("gpt3-1.3b");
  run.label = run.model.name;
  run.machines = a100();
  run.framework = software("megatron-lm");
  run.layout.data = data;
  run.layout.tensor = 8 / data;
  run.layout.micro_batch = micro_batch;
  run.layout.global_batch = 64;
  run.layout = placed(run.layout);
  run.measured_s = factor * predict(run, MemoryTerms::kOwn).time.total();
  return run;
}

TEST(Evaluate, ErrorsBySet) {
  const std::vector<TrainingRun> runs = {run_of("a", 1, 1, 0.5), run_of("a", 2, 1, 1),
                                         run_of("b", 4, 1, 2)};
  const auto errors = time_errors(runs, predict(runs, MemoryTerms::kOwn));
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].set, "all");
  EXPECT_NEAR(errors[0].mean_abs_pct, (100 + 0 + 50) / 3.0, 1e-9);
  EXPECT_NEAR(errors[0].median_ratio, 1, 1e-9);
  EXPECT_NEAR(errors[1].max_abs_pct, 100, 1e-9);
  EXPECT_NEAR(errors[2].mean_abs_pct, 50, 1e-9);
}

TEST(Evaluate, RegretAndRankCorrelation) {
  std::vector<TrainingRun> runs = {run_of("a", 1, 1, 1), run_of("a", 2, 1, 1),
                                   run_of("a", 8, 1, 1)};
  const std::vector<Prediction> predictions = predict(runs, MemoryTerms::kOwn);
  ChoiceSummary right = choices(runs, predictions);
  EXPECT_EQ(right.groups, 1);
  EXPECT_EQ(right.mean_regret_pct, 0);
  EXPECT_EQ(right.mean_tau, 1);
  // The predicted best turns out twice as slow as the slowest: two of three pairs swap.
  std::size_t best = 0, worst = 0;
  for (std::size_t i = 1; i < 3; ++i) {
    if (predictions[i].time.total() < predictions[best].time.total()) best = i;
    if (predictions[i].time.total() > predictions[worst].time.total()) worst = i;
  }
  double least = kNever;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i != best) least = std::min(least, *runs[i].measured_s);
  }
  runs[best].measured_s = 2 * *runs[worst].measured_s;
  const ChoiceSummary wrong = choices(runs, predictions);
  EXPECT_NEAR(wrong.mean_tau, -1.0 / 3, 1e-12);
  EXPECT_NEAR(wrong.mean_regret_pct, 100 * (*runs[best].measured_s / least - 1), 1e-9);
}

TEST(Minimize, FindsTheBottomOfAValley) {
  const auto valley = [](const std::vector<double>& x) {
    const double a = x[1] - x[0] * x[0], b = 1 - x[0];
    return 10 * a * a + b * b;
  };
  const std::vector<double> at = minimize(valley, {-1, 2}, 0.5, 3000);
  EXPECT_NEAR(at[0], 1, 1e-3);
  EXPECT_NEAR(at[1], 1, 1e-3);
}

TEST(Calibrate, FindsTheConstantsThatRunsWereMadeWith) {
  std::vector<TrainingRun> runs;
  for (const char* name : {"gpt3-350m", "gpt3-760m", "gpt3-1.3b", "gpt3-2.7b", "gpt3-6.7b"}) {
    for (const int data : {1, 2, 4, 8}) {
      for (const int micro_batch : {1, 2, 8}) {
        TrainingRun run = run_of("made", data, micro_batch, 1);
        run.model = model_named(name);
        run.model.sequence = 512;  // small enough for the host to matter in some rows
        TrainingRun truth = run;
        truth.machines.device.memory_efficiency = 0.6;
        truth.framework.host_forward_s = 30e-6;
        run.measured_s = predict(truth, MemoryTerms::kOwn).time.total();
        runs.push_back(std::move(run));
      }
    }
  }
  const auto found = calibrate(runs, {.folds = 5, .trials = 1500});
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_GT(found->before[0].mean_abs_pct, 5);
  EXPECT_LT(found->fit[0].mean_abs_pct, 1);
  EXPECT_LT(found->held_out[0].mean_abs_pct, 2);
  for (const Constant& one : found->constants) {
    if (one.name == "memory_efficiency") {
      EXPECT_NEAR(one.after, 0.6, 0.02);
    } else if (one.name == "host_forward_s") {
      EXPECT_NEAR(one.after, 30e-6, 3e-6);
    }
  }
}

TEST(Calibrate, NeedsMeasuredRows) {
  TrainingRun run = run_of("a", 1, 1, 1);
  run.measured_s.reset();
  EXPECT_FALSE(calibrate({run}, {}).ok());
}

// The errors that docs/planner.md states, with a little room.
TEST(Evaluate, StaysWithinItsBoundsOnMeasuredRuns) {
  const struct {
    const char* file;
    const char* set;
    double most_pct, least_tau;
  } rows[] = {{"measured_dev.csv", "Korthikanti-Table5", 3, 0},
              {"measured_dev.csv", "SC21-Table1", 5, 0},
              {"vtrain_multi_dev.csv", kNoSet, 9, 0.7},
              {"vtrain_single_dev.csv", kNoSet, 8, 0.8}};
  for (const auto& row : rows) {
    SKIP_WITHOUT_DATA(planner_data(row.file));
    auto runs = read_runs(planner_data(row.file));
    ASSERT_TRUE(runs.ok()) << runs.error().text();
    std::erase_if(*runs, [&](const TrainingRun& run) { return run.set != row.set; });
    const std::vector<Prediction> predictions = predict(*runs, MemoryTerms::kOwn);
    EXPECT_LE(time_errors(*runs, predictions)[0].mean_abs_pct, row.most_pct) << row.set;
    if (row.set == std::string(kNoSet)) {
      const ChoiceSummary choice = choices(*runs, predictions);
      EXPECT_LE(choice.mean_regret_pct, 3) << row.file;
      EXPECT_GE(choice.mean_tau, row.least_tau) << row.file;
    }
  }
}

}  // namespace
}  // namespace weft::planner

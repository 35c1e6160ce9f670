#include "sim_table.h"

#include <gtest/gtest.h>

#include "base/wrap.h"

namespace weft {
namespace {

struct RunRow {
  const char* policy;
  double mean_jct;
  bool uses_estimates = false;
  const char* estimates = "oracle";
};

std::vector<RunResult> made_runs(const std::vector<RunRow>& rows) {
  std::vector<RunResult> runs;
  for (const RunRow& row : rows) {
    RunResult& run = runs.emplace_back();
    run.policy = row.policy;
    run.cluster = "16x8";
    run.uses_estimates = row.uses_estimates;
    run.estimates = row.estimates;
    run.jct_s.mean = row.mean_jct;
    run.jct_s.p50 = run.jct_s.p99 = run.queue_s.mean = run.makespan_s = 123456;
    run.rho.max = 123;
    run.utilization = 0.789;
    run.decision_p99_s = 0.00123;
  }
  return runs;
}

std::vector<RunGroup> made_groups(const std::vector<RunResult>& runs) {
  return group_by_seed(runs, std::vector<double>(runs.size(), 1.0));
}

TEST(SimTable, TheVerdictSaysWhatWasKnown) {
  struct VerdictRow {
    const char* why;
    std::vector<RunRow> runs;
    const char* want;
  };
  const std::vector<VerdictRow> table = {
      {"one policy", {{"fifo", 100}}, "fifo: mean JCT 100 s"},
      {"one that uses estimates",
       {{"srtf", 100, true}},
       "srtf: mean JCT 100 s, with true durations known"},
      {"who wins without estimates needs no note",
       {{"fifo", 100}, {"las", 50}},
       "las beats fifo: mean JCT 0.50x"},
      {"who knows the truth is told apart from who does not",
       {{"fifo", 100}, {"srtf", 40, true}, {"las", 50}, {"2d-las", 60}},
       "srtf beats fifo: mean JCT 0.40x, with true durations known; las without: 0.50x"},
      {"unless nobody else is there",
       {{"fifo", 100}, {"srtf", 40, true}},
       "srtf beats fifo: mean JCT 0.40x, with true durations known"},
      {"users' estimates are fair",
       {{"fifo", 100}, {"srtf", 40, true, "user"}, {"las", 50, false, "user"}},
       "srtf beats fifo: mean JCT 0.40x, by users' estimates"},
      {"noise is made of the truth",
       {{"fifo", 100}, {"srtf", 40, true, "noisy:0.5"}, {"las", 50}},
       "srtf beats fifo: mean JCT 0.40x, by true durations with noise of sigma 0.5; las without: "
       "0.50x"},
      {"so is nothing of history",
       {{"fifo", 100}, {"srtf", 40, true, "history"}},
       "srtf beats fifo: mean JCT 0.40x, by estimates from jobs that ended"},
      {"the first may be the best",
       {{"fifo", 100}, {"srtf", 140, true}},
       "nothing beats fifo on mean JCT"},
  };
  for (const VerdictRow& row : table) {
    const std::vector<RunResult> runs = made_runs(row.runs);
    EXPECT_EQ(verdict(made_groups(runs)), row.want) << row.why;
  }
}

TEST(SimTable, ThePageMarksPoliciesThatUseEstimates) {
  const std::vector<RunResult> runs = made_runs({{"fifo", 100}, {"srtf", 40, true}, {"las", 50}});
  const std::string page = comparison_page(made_groups(runs));
  EXPECT_NE(page.find("\nsrtf* ✓"), std::string::npos) << page;
  EXPECT_NE(page.find("\nlas  "), std::string::npos) << page;
  EXPECT_NE(page.find("* decides with true durations known (--estimates oracle)\n"),
            std::string::npos)
      << page;
  const std::vector<RunResult> without = made_runs({{"fifo", 100}, {"las", 50}});
  EXPECT_EQ(comparison_page(made_groups(without)).find('*'), std::string::npos);
}

TEST(SimTable, ThePageIsNarrowAndSaysWhatItLeavesOut) {
  std::vector<RunResult> runs =
      made_runs({{"fifo", 123456}, {"finish-time-fair-agnostic", 123456, true}, {"las", 50}});
  EXPECT_EQ(comparison_page(made_groups(runs)).find("kWh"), std::string::npos)
      << "nothing is known";
  for (RunResult& run : runs) {
    run.restarts = 123456;
    run.deadline_misses = run.rejected = 1234;
    run.cost = run.energy_kwh = 123456;
    run.networked = true;
  }
  const std::string page = comparison_page(made_groups(runs));
  EXPECT_LE(widest_line(page), kPageColumns) << page;
  EXPECT_NE(page.find("left out for want of room: decision p99 ms"), std::string::npos) << page;
  const std::string csv = comparison_table(made_groups(runs)).csv();
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "policy,mean JCT s,vs first,p50 JCT s,p99 JCT s,mean queue s,makespan s,util,worst rho,"
            "restarts,misses,rejected,cost,kWh,contended,mean link use,busiest link,"
            "decision p99 ms,estimates");
  EXPECT_NE(csv.find(",oracle\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",none\n"), std::string::npos) << csv;
}

}  // namespace
}  // namespace weft

// FGD: fractions of devices go where they strand least.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/files.h"
#include "base/random.h"
#include "policy/places/places.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

JobRow part(Seconds submit, std::uint32_t milli, Seconds duration) {
  JobRow row{submit, 1, duration};
  row.edit = [milli](Submission&, Menu& menu, Truth&) { menu.configurations[0].milli = milli; };
  return row;
}

// One node of two devices. When b (400) comes, the jobs seen ask for 500 and 400. Beside a (500) it
// would leave 100, of use to neither; on the free device it strands nothing. So c (500) goes beside
// a and d (600) beside b, all at once. Best fit puts b beside a and d must wait for a's end.
TEST(FgdPolicy, LeavesWhatLaterJobsCanUse) {
  const std::vector<JobRow> rows = {part(0, 500, 100), part(1, 400, 200), part(2, 500, 200),
                                    part(3, 600, 50)};
  expect_scenario({"fractions",
                   "1x2",
                   "fgd",
                   rows,
                   {0, 1, 2, 3},
                   {},
                   {"fifo", "{base: fgd, place: best-fit}"}});
  expect_scenario(
      {"fractions by best fit", "1x2", "{base: fgd, place: best-fit}", rows, {0, 1, 2, 100}});
}

// ATC'23 §3.2: free time that a job of the class could not use.
TEST(FgdPolicy, MeasuresFragmentationAsThePaperDoes) {
  const Cluster cluster = testing_cluster("1x4");
  Ledger ledger(cluster);
  Allocation held;
  held.devices = {{0, 700, 0, 0}, {1, 400, 0, 0}};
  ledger.take(0, held);
  Configuration wanted;
  wanted.milli = 500;
  EXPECT_DOUBLE_EQ(fragmentation(ledger, 0, wanted), 300);  // device 0 is too full
  wanted.milli = kWhole;
  wanted.devices = 2;
  EXPECT_DOUBLE_EQ(fragmentation(ledger, 0, wanted), 900);  // two are entirely free
  wanted.devices = 3;
  EXPECT_DOUBLE_EQ(fragmentation(ledger, 0, wanted), 2900);  // it does not fit at all
}

// Fills a cluster with jobs that never end and returns the share of its devices given away.
double filled(const Cluster& cluster, const std::vector<std::shared_ptr<const Submission>>& jobs,
              const Place& place) {
  State state(cluster);
  for (const auto& submission : jobs) {
    JobState& job = state.jobs.emplace_back();
    job.spec = submission;
    job.id = static_cast<JobId>(state.jobs.size() - 1);
    Allocation out;
    for (std::uint16_t c = 0; c < submission->menu->configurations.size(); ++c) {
      if (!place.place(state, job, c, 1, out)) continue;
      state.ledger.take(job.id, out);
      break;
    }
  }
  return state.ledger.held() / cluster.device_count();
}

// §6: as the cluster fills up, less stays unallocated than with best fit. On average over seeds, as
// in the paper; single orders may go either way.
TEST(FgdPolicy, StrandsLessThanBestFitOnRandomTraces) {
  const Cluster cluster = testing_cluster("16x4");
  double gradient = 0, best_fit = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    std::vector<std::shared_ptr<const Submission>> jobs;
    const std::uint32_t parts[] = {200, 300, 500, 600, 700};
    for (int i = 0; i < 200; ++i) {
      auto menu = std::make_shared<Menu>();
      Configuration& c = menu->configurations.emplace_back();
      if (random.chance(0.25)) {
        c.devices = 1u << random.below(3);
      } else {
        c.milli = parts[random.below(5)];
      }
      auto submission = std::make_shared<Submission>();
      submission->menu = std::move(menu);
      jobs.push_back(std::move(submission));
    }
    gradient += filled(cluster, jobs, *fragmentation_place(512, 16));
    best_fit += filled(cluster, jobs, PackedPlace(NodeOrder::kBest));
  }
  EXPECT_GT(gradient, best_fit);
}

TEST(FgdPolicy, StrandsLessThanBestFitOnAlibabasPods) {
  const std::string folder = std::string(WEFT_SHARED_DATA) + "/jobs/alibaba-2023/";
  if (!is_folder(folder)) GTEST_SKIP() << folder << " is not here; see docs/data.md";
  const Result<Cluster> cluster = read_cluster(folder + "openb_node_list_gpu_node.csv");
  ASSERT_TRUE(cluster.ok()) << cluster.error().text();
  const Result<Trace> trace = read_trace(folder + "openb_pod_list_default.csv", *cluster, {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  // Pods drawn from the trace until 1.2 times the cluster is asked for.
  Random random(1);
  std::vector<std::shared_ptr<const Submission>> jobs;
  for (double asked = 0; asked < 1.2 * cluster->device_count();) {
    jobs.push_back(trace->jobs[random.below(trace->jobs.size())].submission);
    asked += jobs.back()->requested().devices * jobs.back()->requested().milli / 1000.0;
  }
  const double gradient = filled(*cluster, jobs, *fragmentation_place(512, 16));
  const double best_fit = filled(*cluster, jobs, PackedPlace(NodeOrder::kBest));
  RecordProperty("fgd", std::to_string(gradient));
  RecordProperty("best_fit", std::to_string(best_fit));
  std::cout << "allocated: fgd " << gradient << ", best-fit " << best_fit << '\n';
  EXPECT_GT(gradient, best_fit);
}

TEST(FgdPolicy, SurvivesDelayLossRefusalAndFailures) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    std::vector<JobRow> rows;
    for (int i = 0; i < 25; ++i) {
      rows.push_back(part(i * 3.0, static_cast<std::uint32_t>(100 + random.below(900)),
                          std::ceil(random.uniform(10, 200))));
    }
    SimOptions options = testing_options();
    options.seed = seed;
    options.channel = {2, 0.1, 0.1, 0.1};
    options.faults.node_mtbf = 2000;
    options.faults.repair_mean = 200;
    const Cluster cluster = testing_cluster("2x4");
    const Trace trace = testing_trace(rows);
    const Result<RunResult> got = run_trace(cluster, trace, *testing_policy("fgd"), options);
    ASSERT_TRUE(got.ok()) << got.error().text();
  }
}

}  // namespace
}  // namespace weft

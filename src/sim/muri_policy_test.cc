// Muri: jobs that use the device at different times of a step interleave.
#include "policy/shares/shares.h"
#include "sim/pair_testing.h"

namespace weft {
namespace {

// Models 0 to 9 use the device for 5 %, 15 %, ... 95 % of a step, and two of them together go as
// fast as their stages interleave.
std::shared_ptr<const PairTable> muri_pairs() {
  auto table = std::make_shared<PairTable>();
  for (int i = 0; i < 10; ++i) {
    ModelProfile model;
    model.name = std::string(1, static_cast<char>('A' + i));
    model.device_util = 0.05 + 0.1 * i;
    model.memory = 4 * kGiB;
    table->models.push_back(model);
  }
  for (const ModelProfile& a : table->models) {
    std::vector<PairSpeed>& row = table->speed.emplace_back();
    for (const ModelProfile& b : table->models) {
      const double speed = interleaving_efficiency(a, b);
      row.push_back({speed, speed, 0});
    }
  }
  return table;
}

RunResult run_muri(const std::string& cluster, const std::vector<JobRow>& rows,
                   const std::string& policy, const SimOptions& options = testing_options()) {
  return run_pairs(cluster, rows, policy, muri_pairs(), options);
}

// a (95 % of the device) and b (15 %) hold the two devices. c (85 %) and d (5 %) come together and
// are matched so that both pairs are perfect: c beside b, d beside a, though c is first in the
// order and a is the first host. All four go at full speed. c outstays b by far, so Lucid lets it
// wait.
TEST(MuriPolicy, ComplementaryStagesShareADevice) {
  const std::vector<JobRow> rows = {modelled(0, 1, 100, 9), modelled(0, 1, 110, 1),
                                    modelled(10, 1, 300, 8), modelled(10, 1, 400, 0)};
  const RunResult got = run_muri("1x2", rows, "muri");
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 0, 10, 10}));
  EXPECT_NEAR(got.records[0].end, 100, 1e-6);
  EXPECT_NEAR(got.records[1].end, 110, 1e-6);
  EXPECT_NEAR(got.records[2].end, 310, 1e-6);
  EXPECT_NEAR(got.records[3].end, 410, 1e-6);
  EXPECT_NE(starts_of(got), starts_of(run_muri("1x2", rows, "fifo")));
  EXPECT_NE(starts_of(got), starts_of(run_muri("1x2", rows, "lucid")));
}

TEST(MuriPolicy, EfficiencyIsThatOfTheInterleavedStep) {
  ModelProfile a, b;
  a.device_util = 0.9;
  b.device_util = 0.1;
  EXPECT_DOUBLE_EQ(interleaving_efficiency(a, b), 1);        // a perfect fit
  EXPECT_DOUBLE_EQ(interleaving_efficiency(a, a), 1 / 1.8);  // the device is the bottleneck
  EXPECT_DOUBLE_EQ(interleaving_efficiency(b, b), 1 / 1.8);  // the host is
}

std::vector<JobRow> muri_rows(std::uint64_t seed, int jobs) {
  return random_modelled(seed, 10, jobs, 15, 400, 3);
}

// SIGCOMM'22 §6: over many traces interleaving lowers the mean completion time, and nobody goes
// slower than by turns. On a single trace a pair that barely gains may delay a short job.
TEST(MuriPolicy, InterleavingPaysOnRandomTraces) {
  double together_s = 0, apart_s = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const std::vector<JobRow> rows = muri_rows(seed, 25);
    const RunResult got = run_muri("2x4", rows, "muri");
    const RunResult apart = run_muri("2x4", rows, "{base: muri, share: none}");
    together_s += got.jct_s.mean;
    apart_s += apart.jct_s.mean;
    EXPECT_EQ(got.restarts, 0);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LE(got.records[i].run_s, 2 * rows[i].duration + 1e-6);
    }
  }
  EXPECT_LT(together_s, apart_s);
}

TEST(MuriPolicy, SurvivesDelayLossRefusalAndFailures) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const RunResult got = run_muri("2x4", muri_rows(seed, 25), "muri", hard_options(seed));
    for (const JobRecord& record : got.records) EXPECT_LT(record.end, kNever);
  }
}

}  // namespace
}  // namespace weft

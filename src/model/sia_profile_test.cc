#include "model/sia_profile.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files.h"

namespace weft {
namespace {

const std::string kFixtures = std::string(WEFT_FIXTURES) + "/sia/";

// Seconds of a training that never moves.
double training_s(const Goodput& profile, int on_type, const std::vector<int>& placement) {
  double seconds = 0, from = 0;
  for (int epoch = 0; epoch < profile.epochs; ++epoch) {
    const double to = profile.noise.end_of(epoch);
    seconds +=
        (to - from) / profile.best(static_cast<std::size_t>(on_type), placement, epoch).goodput;
    from = to;
  }
  return seconds;
}

TEST(SiaProfile, ReadsEveryFileOfAFolder) {
  const Result<Goodput> read = read_sia_profile(kFixtures + "tiny");
  ASSERT_TRUE(read.ok()) << read.error().text();
  const Goodput& profile = read.value();
  EXPECT_EQ(profile.name, "tiny");
  ASSERT_EQ(profile.on_types.size(), 2u);
  EXPECT_EQ(profile.find_type("fast"), 0);
  EXPECT_EQ(profile.find_type("slow"), 1);
  EXPECT_EQ(profile.find_type("other"), -1);
  EXPECT_EQ(profile.epochs, 3);
  EXPECT_DOUBLE_EQ(profile.restart_s, 30);
  EXPECT_DOUBLE_EQ(profile.total_progress(), 300);
  const Goodput::OnType& fast = profile.on_types[0];
  EXPECT_EQ(fast.limits.initial, 16);
  EXPECT_EQ(fast.limits.largest, 64);
  EXPECT_EQ(fast.limits.local_min, 8);
  EXPECT_EQ(fast.limits.local_max, 32);
  EXPECT_NEAR(fast.one_replica_rate, 32 / 0.34, 1e-9);
  const std::optional<StepTime> pair = fast.steps.at(std::vector<int>{2}, 8);
  ASSERT_TRUE(pair.has_value());
  EXPECT_NEAR(pair->compute_s, 0.10, 1e-12);
  EXPECT_NEAR(pair->step_s, 0.12, 1e-12);
  EXPECT_NEAR(profile.noise.at(1, 40).variance, 10.0, 1e-12);
}

TEST(SiaProfile, TakesAFolderNameWithASlash) {
  const Result<Goodput> read = read_sia_profile(kFixtures + "tiny/");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read.value().name, "tiny");
}

TEST(SiaProfile, NamesEveryBadLineAtOnce) {
  const Result<Goodput> read = read_sia_profile(kFixtures + "broken");
  ASSERT_FALSE(read.ok());
  const std::string& text = read.error().what;
  for (const char* part : {
           "placements-fast.csv:3: placement is 102",
           "placements-fast.csv:4: local_bsz is 0",
           "placements-fast.csv:5: step_time is 'nan'",
           "placements-fast.csv:6: step_time is -0.1 s",
           "placements-fast.csv:7: sync_time is 0.2 s",
           "placements-fast.csv:8: step_time is empty",
           "scalability-fast.csv:1: there is no column 'sync_time'",
           "validation-16.csv:3: progress is 90",
           "validation-16.csv:4: grad_sqr -4",
       })
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

TEST(SiaProfile, RefusesTablesWithoutRows) {
  const Result<Goodput> read = read_sia_profile(kFixtures + "empty_table");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().what.find("there are no step times"), std::string::npos);
  EXPECT_NE(read.error().what.find("there are no epochs"), std::string::npos);
}

TEST(SiaProfile, RefusesAFolderThatIsNoProfile) {
  const Result<Goodput> read = read_sia_profile(kFixtures + "nowhere");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(read.error().what.find("nowhere"), std::string::npos);
}

TEST(SiaProfile, ReadsTheArtifact) {
  const std::string traces = std::string(WEFT_SHARED_DATA) + "/jobs/sia-artifact/traces/";
  if (!is_folder(traces)) GTEST_SKIP() << traces << " is not here; see docs/data.md";
  for (const char* model :
       {"bert", "cifar10", "deepspeech2", "gpt_pmp", "imagenet", "ncf", "yolov3"}) {
    SCOPED_TRACE(model);
    const Result<Goodput> read = read_sia_profile(traces + model);
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Goodput& profile = read.value();
    const int rtx = profile.find_type("rtx"), dgx = profile.find_type("dgx-ext");
    ASSERT_GE(rtx, 0);
    ASSERT_GE(dgx, 0);
    const int per_replica = profile.on_types[static_cast<std::size_t>(dgx)].devices_per_replica;
    EXPECT_EQ(per_replica, profile.name == "gpt_pmp" ? 2 : 1);
    // A node of A100s ends every one of these trainings sooner than the smallest gang.
    const double smallest = training_s(profile, dgx, {per_replica});
    const double node = training_s(profile, dgx, {8});
    EXPECT_GT(node, 0);
    EXPECT_LT(node, smallest);
    EXPECT_LT(smallest, 200 * kHour);
  }
}

}  // namespace
}  // namespace weft

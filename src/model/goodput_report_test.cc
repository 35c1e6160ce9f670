#include "model/goodput_report.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

// A step takes 0.1 s + 0.01 s per sample, whatever the gang; nothing is exposed.
GoodputReport two_types() {
  GoodputReport report;
  for (int type = 0; type < 2; ++type) {
    GoodputReport::OnType& here = report.on_types.emplace_back();
    here.limits = {16, 64, 8, 32};
    here.node_devices = 4;
    here.one_replica_rate = type == 0 ? 100 : 40;
  }
  report.on_types[0].model = StepTimeModel{0.1, 0.01, 0, 0, 0, 0, 1};
  report.noise = GradientNoise{1, 3};
  return report;
}

TEST(GoodputReport, KnowsNothingBeforeAMeasurement) {
  GoodputReport report = two_types();
  report.noise.reset();
  EXPECT_FALSE(believed_goodput(report, 0, {1, 1}).has_value());
  report = two_types();
  report.on_types[0].model.reset();
  EXPECT_FALSE(believed_goodput(report, 0, {1, 1}).has_value());
  EXPECT_FALSE(pooled_goodput(report, {1, 1}).has_value());
}

TEST(GoodputReport, AnUnseenTypeIsScaledByItsProfiledRate) {
  const GoodputReport report = two_types();
  const std::optional<double> seen = believed_goodput(report, 0, {1, 2});
  const std::optional<double> unseen = believed_goodput(report, 1, {1, 2});
  ASSERT_TRUE(seen && unseen);
  EXPECT_DOUBLE_EQ(*unseen, *seen * 0.4);
}

TEST(GoodputReport, GangsThatCannotBeFedAreWorthNothing) {
  const GoodputReport report = two_types();
  EXPECT_GT(*believed_goodput(report, 0, {2, 8}), 0);
  EXPECT_EQ(*believed_goodput(report, 0, {3, 9}), 0) << "9 x 8 samples exceed 64";
}

TEST(GoodputReport, AGangMayDoubleUpToWhatCanBeFed) {
  GoodputReport report = two_types();
  EXPECT_EQ(replicas_limit(report), 1);
  report.on_types[1].most_replicas = 3;
  EXPECT_EQ(replicas_limit(report), 6);
  report.on_types[0].most_replicas = 5;
  EXPECT_EQ(replicas_limit(report), 8) << "64 samples feed 8 replicas of at least 8";
}

}  // namespace
}  // namespace weft

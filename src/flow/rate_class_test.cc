#include "flow/rate_class.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(ProgressWeight, RisesFromFirstToLast) {
  EXPECT_DOUBLE_EQ(progress_weight(0), 0.25);
  EXPECT_DOUBLE_EQ(progress_weight(1), 2.0);
  EXPECT_DOUBLE_EQ(progress_weight(0.5, 1, 3), 2.0);
  EXPECT_DOUBLE_EQ(progress_weight(7), 2.0) << "more than all is all";
  EXPECT_DOUBLE_EQ(progress_weight(-1), 0.25);
}

TEST(ShareClasses, PromisesComeFirstAndLimitsAreCaps) {
  const std::vector<BandwidthShare> shares = {{3, 5}, {1, 100}, {0, 7}};
  const std::vector<RateClass> classes = share_classes(shares);
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes[0].rank, 0u);
  EXPECT_EQ(classes[1].rank, 0u);
  EXPECT_EQ(classes[2].rank, 1u) << "no promise: what is left";
  EXPECT_DOUBLE_EQ(classes[0].weight / classes[1].weight, 3);
  EXPECT_EQ(classes[0].cap, 5);
  EXPECT_EQ(classes[2].cap, 7);
}

}  // namespace
}  // namespace weft

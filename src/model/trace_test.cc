#include "model/trace.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Truth, GoesThroughItsPhases) {
  Truth truth;
  truth.work = 100;
  EXPECT_EQ(truth.speed_at(50), 1);
  EXPECT_EQ(truth.speed_changes_at(50), 100);
  EXPECT_EQ(truth.duration_at(2), 50);
  truth.phases = {{0, 1}, {40, 2}, {80, 0.5}, {300, 9}};
  EXPECT_EQ(truth.speed_at(39.9), 1);
  EXPECT_EQ(truth.speed_at(40), 2);
  EXPECT_EQ(truth.speed_at(99), 0.5);
  EXPECT_EQ(truth.speed_changes_at(0), 40);
  EXPECT_EQ(truth.speed_changes_at(40), 80);
  EXPECT_EQ(truth.speed_changes_at(80), 100) << "it is done before the next phase";
  EXPECT_EQ(truth.duration_at(1), 40 + 20 + 40);
}

}  // namespace
}  // namespace weft

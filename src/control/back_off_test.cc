#include "control/back_off.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(BackOff, BeginsWithTheSecondFailureInARowAndDoublesUpToItsMost) {
  const BackOff rule{10, 60};
  const Seconds pauses[] = {0, 0, 10, 20, 40, 60, 60};
  for (std::uint32_t in_row = 0; in_row < std::size(pauses); ++in_row) {
    EXPECT_EQ(rule.pause(in_row), pauses[in_row]) << in_row;
  }
  EXPECT_EQ(rule.pause(4'000'000'000), 60);
}

TEST(BackOff, ALongRunBeginsTheRowAnew) {
  const BackOff rule{10, 60};
  EXPECT_EQ(rule.next_in_row(0, 1), 1u);
  EXPECT_EQ(rule.next_in_row(4, 60), 5u);
  EXPECT_EQ(rule.next_in_row(4, 60.1), 1u);
}

}  // namespace
}  // namespace weft

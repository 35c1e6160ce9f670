#include "timing/compression/overlap.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Case {
  const char* what;
  std::vector<AveragePasses> buckets;
  Seconds want;
};

TEST(Overlap, ProcessorAndWireTakeWhatTheyAreGiven) {
  const Case cases[] = {
      {"nothing", {}, 0},
      {"computing alone", {{2, {0}, {}}}, 2},
      {"an average that nothing hides", {{2, {1, 0.5, 0.25}, {3, 4}}}, 10.75},
      {"the first is over when the second is ready", {{1, {0, 0}, {2}}, {4, {0, 0}, {1}}}, 5},
      {"the wire takes one after the other", {{1, {0, 0}, {2}}, {2, {0, 0}, {2}}}, 5},
      // Both are coded evenly from 1 on, each at half speed: ready at 3, the second's coding begins
      // there.
      {"coding makes computing late", {{1, {1, 0}, {0}}, {2, {0, 0}, {0}}}, 3},
      // Sent from 1 to 2 and from 3 to 4; coded in between while nothing else has anything to send.
      {"a wire lies idle between the passes of a lone bucket", {{0, {1, 1, 1}, {1, 1}}}, 5},
      // The first is coded until 2 beside computing, sent until 3, when the second is ready, and
      // coded again until 4, while the second is sent; then it is sent until 5.
      {"another bucket fills it", {{0, {1, 1, 0}, {1, 1}}, {2, {0, 0}, {1}}}, 5},
  };
  for (const Case& c : cases) EXPECT_NEAR(averages_end(c.buckets), c.want, 1e-9) << c.what;
}

TEST(Overlap, WhatNeverEndsIsSaidToTakeForEver) {
  EXPECT_EQ(averages_end({{0, {0, 0}, {kNever}}}), kNever);
}

TEST(Overlap, TheLatestBucketGoesFirst) {
  // At 1 the first is on the wire until 3; then the third, ready at 2.5, goes before the second.
  // The third's last coding of 5 then hides the second's pass.
  const std::vector<AveragePasses> buckets = {
      {1, {0, 0}, {2}}, {2, {0, 0}, {2}}, {2.5, {0, 5}, {1}}};
  EXPECT_NEAR(averages_end(buckets), 9, 1e-9);
}

}  // namespace
}  // namespace weft

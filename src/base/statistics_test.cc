#include "base/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

TEST(Summarize, OfNothingIsNothing) {
  const Summary none = summarize({});
  EXPECT_EQ(none.mean, 0);
  EXPECT_EQ(none.max, 0);
}

TEST(Summarize, PercentilesAreValuesThatOccur) {
  std::vector<double> values(200);
  std::iota(values.rbegin(), values.rend(), 0);  // 199 ... 0
  const Summary s = summarize(values);
  EXPECT_EQ(s.mean, 99.5);
  EXPECT_EQ(s.p50, 100);
  EXPECT_EQ(s.p95, 190);
  EXPECT_EQ(s.p99, 198);
  EXPECT_EQ(s.max, 199);
}

TEST(Summarize, OfOneValueIsThatValue) {
  const Summary s = summarize({7.5});
  for (const double value : {s.mean, s.p50, s.p95, s.p99, s.max}) EXPECT_EQ(value, 7.5);
}

TEST(DurationHistogram, PercentilesAreWithinTheWidthOfABucket) {
  DurationHistogram histogram;
  EXPECT_EQ(histogram.percentile_s(50), 0);
  for (std::int64_t ns = 1; ns <= 100'000; ++ns) histogram.add_ns(ns);
  EXPECT_EQ(histogram.count(), 100'000);
  for (const double p : {1.0, 50.0, 99.0}) {
    const double exact = p * 1e3 * 1e-9;
    EXPECT_GE(histogram.percentile_s(p), exact * 0.999) << p;
    EXPECT_LE(histogram.percentile_s(p), exact * 1.0905) << p;
  }
}

TEST(DurationHistogram, TakesWhatNoClockShouldGive) {
  DurationHistogram histogram;
  histogram.add_ns(-5);
  histogram.add_ns(0);
  histogram.add_ns(std::int64_t{1} << 62);
  EXPECT_EQ(histogram.count(), 3);
  EXPECT_GT(histogram.percentile_s(100), 4e9);
}

}  // namespace
}  // namespace weft

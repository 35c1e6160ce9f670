// bench/peers/measure.h, and that what it prints is what allreduce_rows.h reads.
#include <gtest/gtest.h>

#include <algorithm>

#include "allreduce_rows.h"
#include "bench/peers/measure.h"

namespace weft {
namespace {

TEST(ExactSums, OnlyTheSumOfAllRanksIsRight) {
  constexpr int kRanks = 3;
  for (const std::size_t count : {1u, 4092u, 4093u, 10000u}) {
    SCOPED_TRACE(count);
    std::vector<float> sum(count, 0.0F), input(count);
    for (int rank = 0; rank < kRanks; ++rank) {
      ExactSums(rank, kRanks, 5).fill(input);
      for (std::size_t i = 0; i < count; ++i) sum[i] += input[i];
    }
    const ExactSums right(0, kRanks, 5);
    EXPECT_EQ(right.count_wrong(sum), 0u);
    EXPECT_GT(right.count_wrong(input), count / 2);                      // nothing was summed
    EXPECT_GT(ExactSums(0, kRanks, 6).count_wrong(sum), count / 2);      // another turn's result
    EXPECT_GT(ExactSums(0, kRanks + 1, 5).count_wrong(sum), count / 2);  // a rank is missing
    sum[count - 1] += 1;
    EXPECT_EQ(right.count_wrong(sum), 1u);
  }
}

Measured alone(std::function<void(float*, std::size_t)> all_reduce) {
  return {0, 1, std::move(all_reduce), [] {}};
}

TEST(Measure, PrintsLinesThatTheReportReads) {
  const std::string lines =
      measure_all_reduce(alone([](float*, std::size_t) {}), {4096, std::size_t{1} << 20});
  for (const std::uint64_t size : {4096u, 1u << 20}) {
    const auto run = read_group(lines, 1, size);
    ASSERT_TRUE(run.ok()) << run.error().text() << "\n" << lines;
    EXPECT_EQ(run->times_s.size(), 400u);  // nothing takes no time
    EXPECT_EQ(run->wrong, 0u);
    EXPECT_GE(run->cpu_s_per_gb, 0);
  }
}

TEST(Measure, CountsWrongElementsOfTheFirstAndTheLastIteration) {
  struct Row {
    const char* why;
    std::function<void(float*, std::size_t)> all_reduce;
    std::uint64_t least, most;
  };
  for (const Row& row : std::vector<Row>{
           {"one element is off by one in both", [](float*d, std::size_t n) { d[n - 1] += 1; }, 2,
            2},
           {"two halves change places",
            [](float*d, std::size_t n) { std::rotate(d, d + n / 2, d + n); }, 1800, 2048},
           {"the second half is lost",
            [](float*d, std::size_t n) {
              if (n > 1000) std::fill(d + n / 2, d + n, 0.0F);
            },
            1000, 1024}}) {
    SCOPED_TRACE(row.why);
    // Iterations are agreed on by a sum of 1024 elements, the size measured here.
    const auto run = read_group(measure_all_reduce(alone(row.all_reduce), {4096}), 1, 4096);
    ASSERT_TRUE(run.ok());
    EXPECT_GE(run->wrong, row.least);
    EXPECT_LE(run->wrong, row.most);
  }
}

TEST(Measure, StopsAtThreeIterationsOfASlowLibrary) {
  const auto slow = [](float*, std::size_t) {
    const std::int64_t begin = monotonic_ns();
    while (monotonic_ns() - begin < 200'000'000) {
    }
  };
  const std::string lines = measure_all_reduce(alone(slow), {std::size_t{2} << 20});
  const auto run = read_group(lines, 1, std::size_t{2} << 20);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->times_s.size(), 3u);
  for (const double seconds : run->times_s) EXPECT_GE(seconds, 0.2);
}

}  // namespace
}  // namespace weft

#include "allreduce_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kSize = 1'000'000;

TEST(AllReduceRows, AnIterationTakesAsLongAsItsSlowestRank) {
  const auto run = read_group(
      "mpirun: a word of the launcher\n"
      "{\"rank\":1,\"size_bytes\":1000000,\"times_s\":[0.2,0.5,0.1],\"cpu_s\":0.9,\"iterations\":3,"
      "\"wrong\":0}\n"
      "{\"rank\":0,\"size_bytes\":1000000,\"times_s\":[0.3,0.4,0.2],\"cpu_s\":0.3,\"iterations\":3,"
      "\"wrong\":7}\n"
      "{\"rank\":0,\"size_bytes\":4096,\"times_s\":[9],\"cpu_s\":9,\"iterations\":1,\"wrong\":9}\n",
      2, kSize);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_THAT(run->times_s, ElementsAre(0.3, 0.5, 0.2));
  // A rank takes 0.6 s for 3 messages of 0.001 GB.
  EXPECT_THAT(run->cpu_s_per_gb, DoubleNear(200, 1e-9));
  EXPECT_EQ(run->wrong, 7u);
}

TEST(AllReduceRows, ALineMayTellWhatWasExpected) {
  const std::string zero =
      "{\"rank\":0,\"size_bytes\":1000000,\"times_s\":[1],\"cpu_s\":1,\"iterations\":1,\"wrong\":0}"
      "\n";
  const auto plain = read_group(zero, 1, kSize);
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain->predicted_s.has_value());
  const auto told = read_group(zero + "{\"size_bytes\":1000000,\"predicted_s\":0.25}\n" +
                                   "{\"size_bytes\":4,\"predicted_s\":9}\n",
                               1, kSize);
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->predicted_s, 0.25);
}

TEST(AllReduceRows, LinesThatDoNotFitTogetherAreRefused) {
  const std::string zero =
      "{\"rank\":0,\"size_bytes\":1000000,\"times_s\":[1,2],\"cpu_s\":1,\"iterations\":2,\"wrong\":"
      "0}"
      "\n";
  const auto other = [](const char* rank, const char* times) {
    return std::string("{\"rank\":") + rank + ",\"size_bytes\":1000000,\"times_s\":" + times +
           ",\"cpu_s\":1,\"iterations\":2,\"wrong\":0}\n";
  };
  struct Row {
    const char* why;
    std::string text;
    const char* says;
  };
  for (const Row& row : std::vector<Row>{
           {"nothing at all", "", "rank 0 printed no result"},
           {"one rank is missing", zero, "rank 1 printed no result"},
           {"a line was cut off", zero + other("1", "[1,2]").substr(0, 40), "rank 1 printed no"},
           {"times that are no numbers", zero + other("1", "[1,\"2\"]"), "rank 1 printed no"},
           {"a rank twice", zero + zero, "rank 0 printed two results"},
           {"a rank that does not exist", zero + other("2", "[1,2]"), "rank 2; there are 2 ranks"},
           {"a negative rank", other("-1", "[1,2]"), "rank -1; there are 2 ranks"},
           {"fewer iterations", zero + other("1", "[1]"), "rank 1 timed 1 iterations and rank 0"},
           {"no iteration", other("0", "[]") + other("1", "[]"), "rank 0 timed no iteration"}}) {
    SCOPED_TRACE(row.why);
    const auto run = read_group(row.text, 2, kSize);
    ASSERT_FALSE(run.ok());
    EXPECT_THAT(run.error().what, HasSubstr(row.says));
  }
}

TEST(AllReduceRows, ARowIsTheMedianOverRounds) {
  const AllReduceRow row = fold_rounds("some", "ring", kSize,
                                       {{{1, 3, 2}, 10, 0, 7},      // median 2
                                        {{8, 8, 9, 9}, 30, 4, {}},  // 8.5
                                        {{5, 0.5, 6}, 20, 1, 9}});  // 5
  EXPECT_EQ(row.predicted_s, 8);
  EXPECT_EQ(row.library, "some");
  EXPECT_EQ(row.algorithm, "ring");
  EXPECT_EQ(row.median_s, 5);
  EXPECT_EQ(row.min_s, 0.5);
  EXPECT_EQ(row.cpu_s_per_gb, 20);
  EXPECT_EQ(row.wrong, 5u);
  EXPECT_EQ(row.rounds, 3);
  EXPECT_EQ(row.iterations, 10);
}

AllReduceRow timed_row(const char* library, const char* algorithm, std::uint64_t size,
                       double median_s, std::uint64_t wrong = 0) {
  AllReduceRow made;
  made.library = library;
  made.algorithm = algorithm;
  made.size_bytes = size;
  made.median_s = median_s;
  made.wrong = wrong;
  return made;
}

TEST(AllReduceRows, TheBestAlgorithmStandsForItsLibraryAndHidesNoWrongSum) {
  const auto best =
      best_algorithms({timed_row("gloo", "ring", 4, 3), timed_row("gloo", "bcube", 4, 2),
                       timed_row("gloo", "tree", 4, 5, 6), timed_row("mpich", "", 4, 1),
                       timed_row("gloo", "ring", 8, 1), timed_row("gloo", "bcube", 8, 2)});
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0].algorithm, "bcube");
  EXPECT_EQ(best[0].wrong, 6u);
  EXPECT_EQ(best[1].library, "mpich");
  EXPECT_EQ(best[2].algorithm, "ring");
  EXPECT_EQ(fastest(best, 4)->library, "mpich");
  EXPECT_EQ(fastest(best, 4, "mpich")->library, "gloo");
  EXPECT_EQ(fastest(best, 8, "gloo"), nullptr);
}

}  // namespace
}  // namespace weft

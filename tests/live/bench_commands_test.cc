// The verbs of `weft bench` that start ranks, and the verbs that those ranks are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cross_testing.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(BenchStart, TellsTheTimeAndTheConnectionsOfAStart) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "bench start --ranks 2,16 --rounds 1 --size 1MB --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("size_bytes"), 1 << 20);
  ASSERT_EQ(json.at("rows").size(), 4u);
  for (const auto& row : json.at("rows")) {
    SCOPED_TRACE(row.dump());
    const int ranks = row.at("ranks");
    const bool tcp = row.at("transport") == "tcp";
    EXPECT_GT(row.at("median_s").get<double>(), 0.001);
    EXPECT_GE(row.at("median_s"), row.at("min_s"));
    // Neighbours 1, 2, 4, ... away on both sides.
    EXPECT_EQ(row.at("after_start").at("control"), ranks == 2 ? 1 : 7);
    EXPECT_EQ(row.at("after_start").at("segments"), tcp ? 0 : ranks - 1);
    for (const char* when : {"after_start", "after_all_reduce"}) {
      const int data = row.at(when).at("data");
      EXPECT_EQ(data > 0, tcp);
      // Both sides of a pair may have begun to connect at once.
      if (ranks == 16) {
        EXPECT_LT(data, row.at("all_to_all").get<int>()) << when;
      }
    }
  }
}

TEST(BenchStart, BadInputIsNamed) {
  const Scratch scratch;
  for (const auto& [words, says] : {std::pair{"--ranks 1", "--ranks"},
                                    {"--ranks 65", "from 2 to 64"},
                                    {"--rounds 0", "--rounds"},
                                    {"--size 6", "multiple of 4 bytes"}}) {
    SCOPED_TRACE(words);
    const CommandResult result = run_weft(scratch, std::string("bench start ") + words);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr(says));
  }
}

}  // namespace
}  // namespace weft

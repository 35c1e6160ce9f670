// `weft bench flows` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/child.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

TEST(BenchFlows, PrintsItsLoadItsFiguresAndItsModel) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "bench flows --hosts 20 --flows 7 --seconds 0.01 --alone");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      testing::MatchesRegex(
          "closed loop of 7 flows between random two of 20 hosts, exponential sizes of mean 100 "
          "MB, seed 1; 2-level Clos: 4 leaves of 5 hosts, 5 spines, 12.5 GB/s links, D-mod-K\n\n"
          "simulator  completions/CPU s  completions  peak MB  times SimGrid\n"
          "weft  +[0-9]+ +[0-9]+ +[0-9.]+ +-\n\n"
          "model: flows share each direction of a cable max-min fairly, no latency; every "
          "completion exact\n"));
  EXPECT_EQ(result.err, "SimGrid beside it: not asked for (--alone)\n");
}

TEST(BenchFlows, JsonHasThePromisedKeys) {
  const Scratch scratch;
  for (const char* words : {"--hosts 16 --flows 8", "--hosts 16 --pattern ring"}) {
    SCOPED_TRACE(words);
    const CommandResult result =
        run_weft(scratch, std::string("bench flows --seconds 0.05 --json ") + words);
    ASSERT_EQ(result.code, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json.at("schema"), 1);
    EXPECT_EQ(json.at("hosts"), 16);
    EXPECT_EQ(json.at("flows"), json.at("pattern") == "ring" ? 16 : 8);
    EXPECT_GT(json.at("completions_per_cpu_s").get<double>(), 1000);
    EXPECT_GT(json.at("peak_rss_bytes").get<double>(), 1e6);
#ifdef WEFT_SIMGRID
    EXPECT_GT(json.at("simgrid").at("completions_per_cpu_s").get<double>(), 100);
    EXPECT_GT(json.at("simgrid").at("peak_rss_bytes").get<double>(), 1e6);
    EXPECT_FALSE(json.contains("simgrid_absent"));
#else
    EXPECT_FALSE(json.contains("simgrid"));
    EXPECT_THAT(json.at("simgrid_absent").get<std::string>(), testing::HasSubstr("simgrid_flows"));
#endif
  }
}

TEST(BenchFlows, SaysWhenTheNetworkIsTooLargeForSimgrid) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "bench flows --hosts 17000 --flows 10 --seconds 0.01 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_FALSE(json.contains("simgrid"));
  EXPECT_THAT(json.at("simgrid_absent").get<std::string>(), testing::HasSubstr("16384"));
}

TEST(BenchFlows, MemoryIsItsOwnAndNotThatOfWhoeverStartedIt) {
  const std::vector<char> ballast(1'200'000'000, 'x');
  const auto end = run_child(
      {WEFT_BINARY, "bench", "flows", "--hosts", "16", "--seconds", "0.01", "--alone", "--json"},
      60);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(ballast[ballast.size() / 2], 'x');
  // A sanitizer takes more than the program, but less than the ballast.
  EXPECT_LT(nlohmann::json::parse(end->out).at("peak_rss_bytes").get<double>(), 1000e6);
}

TEST(BenchFlows, BadInputIsNamed) {
  const Scratch scratch;
  struct Row {
    const char* why;
    const char* words;
    std::vector<std::string> says;
  };
  for (const Row& row : std::vector<Row>{
           {"one host", "flows --hosts 1", {"--hosts", "1 not in range", "2"}},
           {"too many hosts", "flows --hosts 1000001", {"--hosts", "1000000"}},
           {"no flows", "flows --flows 0", {"--flows", "0 not in range"}},
           {"a negative number", "flows --flows -4", {"--flows"}},
           {"not a number", "flows --hosts many", {"--hosts", "many"}},
           {"no time", "flows --seconds 0", {"--seconds", "0 not in range"}},
           {"a pattern nobody knows", "flows --pattern star", {"--pattern", "star", "ring"}},
           {"flows of a ring",
            "flows --hosts 16 --pattern ring --flows 5",
            {"--flows is 5", "a ring of 16 hosts has 16 flows", "hint"}},
           {"an option nobody knows", "flows --fast", {"--fast"}},
           {"no verb", "", {"subcommand"}}}) {
    SCOPED_TRACE(row.why);
    const CommandResult result = run_weft(scratch, std::string("bench ") + row.words);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    for (const std::string& part : row.says) EXPECT_THAT(result.err, testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace weft

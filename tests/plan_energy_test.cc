// `weft plan energy` as its users meet it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cross_testing.h"

namespace weft {
namespace {

constexpr const char* kTiny = "plan energy --schedule 1f1b --stages 4 --microbatches 8 ";

TEST(PlanEnergy, TheFrontierBeginsAtTheFastestTimeAndSaves) {
  const Scratch scratch;
  const std::string svg = scratch.path("frontier.svg");
  const CommandResult result = run_weft(
      scratch, std::string(kTiny) + "--watts 400 --idle-watts 100 --points 5 --json --svg " + svg);
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_NEAR(json["fastest_s"].get<double>(), 33, 1e-9);
  EXPECT_NEAR(json["fastest_joules"].get<double>(), 4 * (24 * 400 + 9 * 100), 1e-6);
  ASSERT_EQ(json["points"].size(), 5u);
  EXPECT_NEAR(json["points"][0]["seconds"].get<double>(), 33, 1e-6);
  double last = json["fastest_joules"].get<double>();
  for (const auto& point : json["points"]) {
    EXPECT_LT(point["joules"].get<double>(), last);
    EXPECT_LE(point["bound_joules"].get<double>(), point["joules"].get<double>() * (1 + 1e-6));
    last = point["joules"].get<double>();
  }
  EXPECT_GT(std::filesystem::file_size(svg), 1000u);
}

TEST(PlanEnergy, MeasuredChoicesGiveASchedule) {
  const Scratch scratch;
  const std::string choices =
      scratch.write("clocks.csv",
                    "do,chunk,clock,seconds,joules\nforward,,1980,1,400\nforward,,1400,1.25,330\n"
                    "backward,,1980,2,800\nbackward,,1400,2.5,650\n");
  const std::string file = scratch.path("slow.json");
  const CommandResult result = run_weft(
      scratch, std::string(kTiny) + "--choices " + choices + " --deadline 33 --write " + file);
  ASSERT_EQ(result.code, 0) << result.err;
  const CommandResult again = run_weft(scratch, "plan pipeline --json --read " + file);
  ASSERT_EQ(again.code, 0) << again.err;
  const auto json = nlohmann::json::parse(again.out);
  EXPECT_NEAR(json["makespan"].get<double>(), 33, 1e-6);
  EXPECT_LT(json["total_joules"].get<double>(), 4 * 8 * 1200.0);
}

TEST(PlanEnergy, BadInputIsNamed) {
  struct Row {
    std::string arguments;
    const char* says;
  };
  for (const Row& row : {
           Row{kTiny, "--watts is 0"},
           Row{"plan energy --watts 4", "--schedule or --read"},
           Row{std::string(kTiny) + "--watts 4 --deadline 3", "cannot take 3 s"},
           Row{std::string(kTiny) + "--watts 4 --write x", "--write takes one point"},
           Row{std::string(kTiny) + "--watts 4 --clocks 2", "--clocks"},
           Row{std::string(kTiny) + "--choices /nowhere.csv", "/nowhere.csv"},
           Row{"plan energy --schedule bpipe --stages 4 --microbatches 8 --watts 4", "offload"},
       }) {
    const Scratch scratch;
    const CommandResult result = run_weft(scratch, row.arguments);
    EXPECT_EQ(result.code, 2) << row.arguments;
    EXPECT_NE(result.err.find(row.says), std::string::npos) << row.arguments << ": " << result.err;
  }
}

}  // namespace
}  // namespace weft

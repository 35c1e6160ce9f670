// `weft plan goodput` as its users meet it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cross_testing.h"

namespace weft {
namespace {

TEST(PlanGoodput, JsonHasEveryPolicyWithItsSimulation) {
  const Scratch scratch;
  const CommandResult result = run_weft(
      scratch,
      "plan goodput --nodes 2048 --part node:2048:6333h --checkpoint 10 --restart 5min --stages 16 "
      "--microbatches 16 --repair 24h --spares 20 --simulate 20000 --seed 3 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_NEAR(json["mtbf_s"].get<double>(), 6333 * 3600.0 / 2048, 1e-6);
  EXPECT_NEAR(json["parts"][0]["failures_per_day"].get<double>(), 24 * 2048 / 6333.0, 1e-9);
  EXPECT_NEAR(json["exact_interval_s"].get<double>(), 465, 2);
  ASSERT_EQ(json["policies"].size(), 6u);
  for (const auto& row : json["policies"]) {
    EXPECT_NEAR(row["simulated"]["goodput"].get<double>() / row["goodput"].get<double>(), 1, 0.01)
        << row.dump();
  }
  EXPECT_NEAR(json["policies"][0]["goodput"].get<double>(), 0.932, 0.002);
}

TEST(PlanGoodput, WithoutStagesThreePoliciesAreCompared) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "plan goodput --nodes 64 --node-mtbf 1000h --checkpoint 60 --restart 600");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("overlapped"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("rerouted"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("is best"), std::string::npos) << result.out;
}

TEST(PlanGoodput, RacksThatTakeTimeToRepairAreSimulated) {
  const Scratch scratch;
  const std::string racks =
      "plan goodput --nodes 64 --node-mtbf 1000h --checkpoint 60 --restart 600 --rack 8 "
      "--rack-mtbf 4000h --rack-repair 4h --repair 4h --spares 16 --json";
  EXPECT_EQ(run_weft(scratch, racks).code, 2);
  const CommandResult result = run_weft(scratch, racks + " --simulate 5000");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_TRUE(json["policies"][0]["goodput"].is_null());
  EXPECT_GT(json["policies"][0]["simulated"]["goodput"].get<double>(), 0.9);
}

TEST(PlanGoodput, BadInputIsNamed) {
  struct Row {
    const char* arguments;
    const char* says;
  };
  for (const Row& row : {
           Row{"--nodes 8 --checkpoint 1 --restart 1", "given in 0 ways"},
           Row{"--nodes 8 --checkpoint 1 --restart 1 --node-mtbf 1h --part a:1:1h", "in 2 ways"},
           Row{"--nodes 8 --checkpoint 1x --restart 1 --node-mtbf 1h", "'1x' is not a time"},
           Row{"--nodes 8 --checkpoint 1 --restart 1 --part gpu", "gpu:16384:50000h"},
           Row{"--nodes 8 --checkpoint 1 --restart 1 --part a:0:1h", "must be finite and above 0"},
           Row{"--nodes 0 --checkpoint 1 --restart 1 --node-mtbf 1h", "nodes is 0"},
           Row{"--nodes 8 --checkpoint 1 --restart 1 --node-mtbf 1h --policy gemini", "known are"},
           Row{"--nodes 8 --checkpoint 1 --restart 1 --node-mtbf 1h --stages 3", "of 3 nodes each"},
           Row{"--nodes 8 --checkpoint 1 --restart 1 --node-mtbf 1h --copies 9", "2 .. 8"},
           Row{"--nodes 8 --checkpoint 1 --restart 1 --node-mtbf 1h --rack 3", "racks of 3 nodes"},
           Row{"--nodes 8 --checkpoint 1 --restart 1 --node-mtbf 1h --rack 4",
               "failures of a rack"},
       }) {
    const Scratch scratch;
    const CommandResult result = run_weft(scratch, std::string("plan goodput ") + row.arguments);
    EXPECT_EQ(result.code, 2) << row.arguments;
    EXPECT_NE(result.err.find(row.says), std::string::npos) << row.arguments << ": " << result.err;
  }
}

}  // namespace
}  // namespace weft

// `weft net coflow` as its users meet it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cross_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;

// Two coflows into port 2, of 2 s and of 1 s alone; a third beside them on ports of its own.
constexpr const char* kThree = "5 3\na 0 1 0 1 2:256\nb 0 1 1 1 2:128\nc 500 1 3 1 4:64\n";

Json coflow_json(const Scratch& scratch, const std::string& words) {
  const CommandResult result = run_weft(scratch, "net coflow --json " + words);
  EXPECT_EQ(result.code, 0) << result.err;
  return result.code == 0 ? Json::parse(result.out) : Json();
}

TEST(NetCoflow, JsonHasAMeanAndTheBoundForEveryPolicy) {
  const Scratch scratch;
  const std::string trace = scratch.write("three.txt", kThree);
  const Json j = coflow_json(scratch, "--policy fifo,sebf,fair --trace " + trace);
  EXPECT_EQ(j["coflows"], 3);
  EXPECT_EQ(j["ports"], 5);
  ASSERT_EQ(j["runs"].size(), 3u);
  const double means[] = {(2 + 3 + 0.5) / 3, (3 + 1 + 0.5) / 3, (3 + 2 + 0.5) / 3};
  const char* names[] = {"fifo", "sebf", "fair"};
  for (std::size_t k = 0; k < 3; ++k) {
    const Json& run = j["runs"][k];
    EXPECT_EQ(run["policy"], names[k]);
    EXPECT_NEAR(run["mean_cct_s"].get<double>(), means[k], 1e-8);
    EXPECT_NEAR(run["lower_bound_s"].get<double>(), 1.5, 0.02);  // (3 + 1 + 0.5) / 3 is the best
    EXPECT_LE(run["lower_bound_s"].get<double>(), run["mean_cct_s"].get<double>());
    EXPECT_LE(run["p50_cct_s"].get<double>(), run["p95_cct_s"].get<double>());
    EXPECT_LE(run["p95_cct_s"].get<double>(), run["p99_cct_s"].get<double>());
    EXPECT_GE(run["cpu_s"].get<double>(), 0);
  }
  EXPECT_NEAR(j["runs"][0]["p50_cct_s"].get<double>(), 2, 1e-8);
}

TEST(NetCoflow, OptionsChangeWhatTheySay) {
  const Scratch scratch;
  const std::string trace = scratch.write("three.txt", kThree);
  const auto mean = [&](const std::string& words) {
    return coflow_json(scratch, "--policy sebf --trace " + trace + words)["runs"][0]["mean_cct_s"]
        .get<double>();
  };
  EXPECT_NEAR(mean(" --port-mib 64"), 2 * 1.5, 1e-8);
  EXPECT_NEAR(mean(" --load-scale 3"), 1.5, 1e-8);  // the one that comes later meets nobody
  const Json late = coflow_json(
      scratch, "--policy edf --deadline-slack 0.01 --seed 3 --trace " + trace)["runs"][0];
  EXPECT_EQ(late["refused"], 1);  // a and b cannot both have nearly the port to themselves
  EXPECT_EQ(late["deadlines_met"], 2);
}

TEST(NetCoflow, CoflowsGoToAFileOneByOne) {
  const Scratch scratch;
  const std::string trace = scratch.write("three.txt", kThree);
  const std::string csv = scratch.path("coflows.csv");
  coflow_json(scratch, "--policy sebf --per-coflow " + csv + " --trace " + trace);
  const std::string text = slurp(csv);
  EXPECT_EQ(text.rfind("policy,coflow,arrival_s,end_s,cct_s,isolated_s,refused\n", 0), 0u) << text;
  EXPECT_NE(text.find("\nsebf,b,0,1,1,1,0\n"), std::string::npos) << text;
}

TEST(NetCoflow, CoflowsimsRulesRoundToItsSteps) {
  const Scratch scratch;
  const std::string trace = scratch.write("three.txt", kThree);
  const Json j = coflow_json(scratch, "--coflowsim-compat --policy sebf --trace " + trace);
  const Json& run = j["runs"][0];
  // Its second has 1024 ms; b 128, a behind it 384, c 64 steps of 8 ms, all begun at 0.
  EXPECT_NEAR(run["mean_cct_s"].get<double>(), 0.008 * (384 + 128 + 64) / 3, 1e-9);
  EXPECT_FALSE(run.contains("lower_bound_s"));  // coflows start before they arrive
  const CommandResult without =
      run_weft(scratch, "net coflow --coflowsim-compat --policy weft --trace " + trace);
  EXPECT_EQ(without.code, 2);
  EXPECT_NE(without.err.find("coflowsim's rules for 'weft' are not built"), std::string::npos)
      << without.err;
}

TEST(NetCoflow, TheTableSaysModelAndVerdict) {
  const Scratch scratch;
  const std::string trace = scratch.write("three.txt", kThree);
  const CommandResult result = run_weft(scratch, "net coflow --policy fifo,sebf --trace " + trace);
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"128 MiB/s up and down", "every flow's end exact", "bound s",
                           "sebf: mean CCT 1.50 s", "no schedule has less than"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
  const CommandResult list = run_weft(scratch, "net coflow --list-policies");
  EXPECT_EQ(list.code, 0);
  EXPECT_NE(list.out.find("Aalo, SIGCOMM 2015"), std::string::npos);
}

TEST(NetCoflow, BadInputIsRefused) {
  const Scratch scratch;
  const std::string good = scratch.write("three.txt", kThree);
  const struct {
    std::string words, says;
  } cases[] = {
      {"", "--trace is needed"},
      {"--trace " + scratch.path("none.txt"), "none.txt"},
      {"--policy sebff --trace " + good, "did you mean 'sebf'"},
      {"--trace " + scratch.write("port.txt", "3 1\na 0 1 0 1 3:1\n"), "port.txt"},
      {"--trace " + scratch.write("short.txt", "3 2\na 0 1 0 1 2:1\n"), "short.txt"},
      {"--trace " + scratch.write("negative.txt", "3 1\na 0 1 0 1 2:-1\n"), "negative.txt"},
      {"--trace gen:ports=0", "ports"},
      {"--port-mib 0 --trace " + good, "port-mib"},
      {"--load-scale -1 --trace " + good, "load-scale"},
  };
  for (const auto& row : cases) {
    const CommandResult result = run_weft(scratch, "net coflow " + row.words);
    EXPECT_EQ(result.code, 2) << row.words;
    EXPECT_NE(result.err.find(row.says), std::string::npos) << row.words << ": " << result.err;
  }
}

}  // namespace
}  // namespace weft

// `weft net iteration` as its users meet it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/cross_testing.h"

namespace weft {
namespace {

std::string flow_example(const std::string& name) {
  return fixture("../../examples/flows/" + name);
}

TEST(NetIteration, JsonHasIterationAndBoundOfEveryRun) {
  const Scratch scratch;
  const std::string svg = scratch.path("chart.svg"), trace = scratch.path("trace.json");
  const CommandResult result = run_weft(
      scratch, "net iteration --job " + flow_example("vgg16.yaml") +
                   " --scheduler fifo,bytescheduler --json --svg " + svg + " --trace-out " + trace);
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_NE(json["model"].get<std::string>().find("max-min"), std::string::npos);
  ASSERT_EQ(json["runs"].size(), 2u);
  EXPECT_EQ(json["runs"][0]["scheduler"], "fifo");
  const double ideal = json["runs"][1]["ideal_s"], tuned = json["runs"][1]["iteration_s"];
  EXPECT_GE(tuned, ideal * (1 - 1e-9));
  EXPECT_LE(tuned, ideal * 1.05);
  EXPECT_GT(json["runs"][0]["iteration_s"].get<double>(), 1.1 * tuned);
  EXPECT_EQ(slurp(svg).rfind("<svg", 0), 0u);
  EXPECT_TRUE(nlohmann::json::parse(slurp(trace)).contains("traceEvents"));
}

TEST(NetIteration, TheBoundStandsBesideTheSpeedUp) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "net iteration --job " + flow_example("interleave.yaml") +
                            " --scheduler fair,cassini");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("cassini beats fair"), std::string::npos);
  EXPECT_NE(result.out.find("the bound allows no scheduler more than"), std::string::npos);
  EXPECT_NE(result.out.find("model:"), std::string::npos);
}

TEST(NetIteration, EveryExampleRunsUnderEveryScheduler) {
  const Scratch scratch;
  for (const auto& entry : std::filesystem::directory_iterator(flow_example(""))) {
    SCOPED_TRACE(entry.path());
    const CommandResult result = run_weft(
        scratch, "net iteration --iterations 3 --csv --job " + entry.path().string() +
                     " --scheduler fifo,per-flow,p3,tic,tac,bytescheduler,prophet,echelon,shares,"
                     "srpt,jpas,cassini,crux,mltcp");
    EXPECT_EQ(result.code, 0) << result.err;
  }
}

struct BadIteration {
  const char* why;
  std::string arguments;
  std::string says;
};

TEST(NetIteration, BadUseIsExplained) {
  const Scratch scratch;
  const std::string bad = scratch.write("bad.yaml", "links: [{name: x, gbit_s: -3}]\njobs: []\n");
  const std::vector<BadIteration> table = {
      {"nothing", "net iteration", "--job and --scheduler"},
      {"no verb", "net", "subcommand"},
      {"no file", "net iteration --job none.yaml --scheduler fifo", "none.yaml"},
      {"a bad file", "net iteration --job " + bad + " --scheduler fifo", "bad.yaml:1"},
      {"an unknown scheduler",
       "net iteration --job " + flow_example("vgg16.yaml") + " --scheduler fifp", "'fifo'?"},
      {"too few iterations",
       "net iteration --job " + flow_example("vgg16.yaml") + " --scheduler fifo --iterations 1",
       "iterations"},
  };
  for (const BadIteration& row : table) {
    SCOPED_TRACE(row.why);
    const CommandResult result = run_weft(scratch, row.arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find(row.says), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(NetIteration, SchedulersAreListedWithTheirSources) {
  const Scratch scratch;
  const CommandResult result = run_weft(scratch, "net iteration --list-schedulers");
  EXPECT_EQ(result.code, 0);
  for (const char* const name : {"bytescheduler", "cassini", "SOSP '19", "NSDI '24"}) {
    EXPECT_NE(result.out.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace weft

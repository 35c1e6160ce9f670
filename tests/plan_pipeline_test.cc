// `weft plan pipeline` as its users meet it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cross_testing.h"

namespace weft {
namespace {

TEST(PlanPipeline, JsonHasBothKindsOfIdleTime) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "plan pipeline --schedule zb-h2 --stages 4 --microbatches 8 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_NEAR(json["makespan"].get<double>(), 27, 1e-9);
  EXPECT_NEAR(json["idle_fraction"].get<double>(), 1.0 / 9, 1e-9);
  EXPECT_NEAR(json["span_idle_fraction"].get<double>(), 0, 1e-9);
  EXPECT_EQ(json["peak_activations"], nlohmann::json({7.0, 7.0, 7.0, 7.0}));
}

TEST(PlanPipeline, WhatIsWrittenIsReadBack) {
  const Scratch scratch;
  const std::string file = scratch.path("schedule.json");
  const std::string svg = scratch.path("chart.svg");
  const std::string trace = scratch.path("trace.json");
  const CommandResult made =
      run_weft(scratch,
               "plan pipeline --schedule bpipe --stages 4 --microbatches 8 --transfer 0.1 --csv "
               "--write " +
                   file + " --svg " + svg + " --perfetto " + trace);
  ASSERT_EQ(made.code, 0) << made.err;
  const CommandResult read = run_weft(scratch, "plan pipeline --csv --read " + file);
  ASSERT_EQ(read.code, 0) << read.err;
  EXPECT_EQ(read.out, made.out);
  EXPECT_GT(std::filesystem::file_size(svg), 1000u);
  EXPECT_GT(std::filesystem::file_size(trace), 1000u);
}

TEST(PlanPipeline, ARecordedRunIsReplayedAndTheSlowWorkerNamed) {
  const Scratch scratch;
  const std::string trace = scratch.path("trace.json");
  const CommandResult made =
      run_weft(scratch,
               "plan pipeline --schedule 1f1b --stages 4 --microbatches 8 --slowdown 1,1,2,1 "
               "--json --perfetto " +
                   trace);
  ASSERT_EQ(made.code, 0) << made.err;
  const CommandResult read =
      run_weft(scratch, "plan pipeline --recording " + trace + " --ideal worker=2 --json --svg " +
                            scratch.path("replay.svg"));
  ASSERT_EQ(read.code, 0) << read.err;
  const auto before = nlohmann::json::parse(made.out);
  const auto after = nlohmann::json::parse(read.out);
  EXPECT_NEAR(after["recorded_s"].get<double>(), before["makespan"].get<double>(), 1e-9);
  EXPECT_NEAR(after["replayed_s"].get<double>(), before["makespan"].get<double>(), 1e-9);
  EXPECT_NEAR(after["what_if_s"].get<double>(), 33, 1e-9);
  EXPECT_NEAR(after["ideal_s"].get<double>(), 33, 1e-9);
  EXPECT_NEAR(after["causes"][2]["alone_s"].get<double>(), before["makespan"].get<double>(), 1e-9);
  const CommandResult text = run_weft(scratch, "plan pipeline --trace " + trace);  // its old name
  EXPECT_NE(text.out.find("the most is due to worker=2"), std::string::npos) << text.out;
  EXPECT_GT(std::filesystem::file_size(scratch.path("replay.svg")), 1000u);
  const CommandResult far =
      run_weft(scratch, "plan pipeline --trace " + trace + " --ideal worker=4");
  EXPECT_EQ(far.code, 2);
  EXPECT_NE(far.err.find("workers 0 .. 3"), std::string::npos) << far.err;
}

TEST(PlanPipeline, EnergyIsThatOfOperationsAndOfWaiting) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch,
               "plan pipeline --schedule 1f1b --stages 4 --microbatches 8 --watts 400 "
               "--idle-watts 100 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  // 33 s, of which each device computes 24.
  EXPECT_NEAR(json["joules"][3].get<double>(), 24 * 400 + 9 * 100, 1e-6);
  EXPECT_NEAR(json["total_joules"].get<double>(), 4 * (24 * 400 + 9 * 100), 1e-6);
}

TEST(PlanPipeline, BadInputIsNamed) {
  struct Row {
    const char* arguments;
    int code;
    const char* says;
  };
  for (const Row& row : {
           Row{"--schedule zbh1 --stages 4 --microbatches 8", 2, "did you mean 'zb-h1'?"},
           Row{"--schedule interleaved --stages 4 --microbatches 6", 2, "multiple of the 4 stages"},
           Row{"--schedule 1f1b --stages 4 --microbatches 8 --chunk-scale 1,2", 2, "2 chunks"},
           Row{"--schedule 1f1b --stages 4 --microbatches 8 --limit 1,2", 2, "--limit has 2"},
           Row{"--schedule 1f1b --stages 4 --microbatches 8 --limit 3", 1, "the limit is 3"},
           Row{"--schedule 1f1b --stages 4 --microbatches 8 --times 1,2", 2, "--times"},
           Row{"--trace /nowhere.json", 2, "/nowhere.json"},
           Row{"--recording x --schedule 1f1b", 2, "leave out --schedule"},
           Row{"--read /nowhere.json", 2, "/nowhere.json"},
           Row{"--stages 4", 2, "--schedule, --read or --recording is needed"},
           Row{"--schedule search --stages 4 --microbatches 8 --limit 0.5", 2, "the limit is 0.5"},
       }) {
    const Scratch scratch;
    const CommandResult result = run_weft(scratch, std::string("plan pipeline ") + row.arguments);
    EXPECT_EQ(result.code, row.code) << row.arguments;
    EXPECT_NE(result.err.find(row.says), std::string::npos) << row.arguments << ": " << result.err;
  }
}

}  // namespace
}  // namespace weft

// `weft plan evaluate`, `calibrate` and `search` as their users meet them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "tests/cross_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr const char* kRows =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
    "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n"
    "2,16,8,1024,16,24,1024,1,1,2,372.16\n"
    "8,32,4,1024,16,24,1024,2,2,2,219.73\n"
    "4,16,4,2048,16,24,1024,1,2,2,410.49\n"
    "4,16,4,2048,16,12,1024,1,2,2,\n";

TEST(PlanEvaluate, JsonHasRowsAndSummary) {
  const Scratch scratch;
  const std::string file = scratch.write("rows.csv", kRows);
  const CommandResult result = run_weft(scratch, "plan evaluate --json " + file);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json out = Json::parse(result.out);
  ASSERT_EQ(out["rows"].size(), 4u);
  const Json& row = out["rows"][0];
  EXPECT_NEAR(row["measured_s"].get<double>(), 0.37216, 1e-12);
  EXPECT_NEAR(row["error_pct"].get<double>(),
              100 * (row["predicted_s"].get<double>() / 0.37216 - 1), 1e-9);
  EXPECT_GT(row["memory_bytes"].get<double>(), 1e9);
  EXPECT_TRUE(out["rows"][3]["measured_s"].is_null());
  EXPECT_EQ(out["summary"]["rows"], 3);
  for (const char* key : {"mean_abs_error_pct", "max_abs_error_pct", "median_ratio"}) {
    EXPECT_TRUE(out["summary"][key].is_number()) << key;
  }
}

TEST(PlanEvaluate, MistakesAreNamed) {
  const Scratch scratch;
  const std::string bad = scratch.write("bad.csv", std::string(kRows) + "8,32,4\n");
  const std::string good = scratch.write("good.csv", kRows);
  const struct {
    std::string arguments;
    const char* says;
  } rows[] = {{bad, "bad.csv:6"},
              {"/nowhere.csv", "/nowhere.csv"},
              {good + " --sets row", "did you mean 'rows'"},
              {good + " --memory-terms some", "--memory-terms"}};
  for (const auto& row : rows) {
    const CommandResult result = run_weft(scratch, "plan evaluate " + row.arguments);
    EXPECT_EQ(result.code, 2) << row.arguments;
    EXPECT_NE(result.err.find(row.says), std::string::npos) << result.err;
  }
}

TEST(PlanCalibrate, PrintsFitAndFoldsSideBySide) {
  const Scratch scratch;
  const std::string file = scratch.write("rows.csv", kRows);
  const CommandResult result =
      run_weft(scratch, "plan calibrate --trials 100 --folds 2 --json " + file);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json out = Json::parse(result.out);
  EXPECT_EQ(out["folds"], 2);
  EXPECT_LE(out["fit"]["all"]["mean_abs_error_pct"], out["before"]["all"]["mean_abs_error_pct"]);
  EXPECT_TRUE(out["held_out"]["all"]["mean_abs_error_pct"].is_number());
  EXPECT_EQ(out["constants"].size(), 6u);
}

TEST(PlanSearch, JsonHasTheAnswer) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch, "plan search gpt3-13b --devices 64 --batch 256 --device a100-80 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json out = Json::parse(result.out);
  EXPECT_GT(out["configurations"].get<long>(), out["feasible"].get<long>());
  EXPECT_GT(out["cpu_s"].get<double>(), 0);
  EXPECT_GT(out["peak_rss_bytes"].get<long>(), 0);
  EXPECT_LE(out["best"]["step_s"], out["runner_up"]["step_s"]);
  EXPECT_FALSE(out["rejected"].empty());
  double parts = 0;
  for (const auto& [name, seconds] : out["best"]["breakdown_s"].items()) {
    parts += seconds.get<double>();
  }
  EXPECT_NEAR(parts, out["best"]["step_s"].get<double>(), 1e-9);
}

TEST(PlanSearch, PicturesAndFlags) {
  const Scratch scratch;
  const std::string svg = scratch.path("best.svg");
  const CommandResult result =
      run_weft(scratch, "plan search megatron-39b --devices 64 --batch 64 --flags --svg " + svg);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("--tensor-model-parallel-size"), std::string::npos);
  EXPECT_NE(slurp(svg).find("<svg"), std::string::npos);
}

TEST(PlanSearch, TheBestIsSolvedExactlyAndReported) {
  const Scratch scratch;
  const std::string page = scratch.path("plan.html");
  const CommandResult result =
      run_weft(scratch,
               "plan search gpt3-13b --devices 32,64 --batch 256 --device a100-80,h100 "
               "--price 2,4 --json --report " +
                   page);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json out = Json::parse(result.out);
  for (const char* which : {"best", "runner_up"}) {
    const Json& one = out[which];
    ASSERT_FALSE(one["exact"].is_null()) << one["layout"];
    EXPECT_GT(one["exact"]["makespan"].get<double>(), 0.5 * one["step_s"].get<double>());
    EXPECT_EQ(one["exact"]["peak_activations"].size(), one["pipeline"].get<std::size_t>());
    ASSERT_EQ(one["exact"]["memory"].size(), one["pipeline"].get<std::size_t>());
    EXPECT_GT(one["exact"]["memory"][0]["peak_bytes"].get<double>(), 1e9);
  }
  ASSERT_EQ(out["offers"].size(), 4u);
  EXPECT_EQ(out["device"], "h100");
  EXPECT_EQ(out["devices"], 64);
  EXPECT_EQ(out["cost_unit"], "money");
  ASSERT_GT(out["pareto"].size(), 1u);
  double cheapest = 1e18;
  for (const Json& point : out["pareto"]) {
    cheapest = std::min(cheapest, point["cost_per_step"].get<double>());
  }
  for (const Json& offer : out["offers"]) EXPECT_LE(cheapest, offer["cost_per_step"].get<double>());
  const std::string html = slurp(page);
  for (const char* part : {"<svg", "Memory by stage", "Constants", "stage 0", "torchrun"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(PlanSearch, PoolsOfDevicesShareAModel) {
  const Scratch scratch;
  const std::string pools = scratch.write(
      "pools.yaml", "pools:\n  - {device: a100-80, devices: 16}\n  - {device: h100, devices: 8}\n");
  const CommandResult result =
      run_weft(scratch, "plan search gpt3-13b --batch 64 --json --device " + pools);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json out = Json::parse(result.out);
  int layers = 0;
  for (const Json& stage : out["best"]["stages"]) layers += stage["layers"].get<int>();
  EXPECT_EQ(layers, 40);
  EXPECT_EQ(run_weft(scratch, "plan search gpt3-13b --devices 8 --device " + pools).code, 2);
}

TEST(PlanCompare, BlamesATermForEachDifference) {
  const Scratch scratch;
  const std::string sample = scratch.write(
      "sample.csv",
      "num_procs,tensor_par,pipeline_par,data_par,tensor_par_net,pipeline_par_net,data_par_net,"
      "batch_size,microbatch_size,activation_recompute,pipeline_interleaving,optimizer_sharding,"
      "tensor_par_comm_type,tensor_par_overlap,seq_par_ag_redo,data_par_overlap,weight_offload,"
      "activations_offload,optimizer_offload,feasible,total_time_s\n"
      "64,8,8,1,0,1,1,64,1,full,1,False,ar,none,False,False,False,False,False,1,0.001\n"
      "64,8,8,1,0,0,1,64,1,full,1,False,ar,none,False,False,False,False,False,0,\n"
      "8,8,1,1,0,1,1,8,1,none,1,False,ar,none,False,False,False,False,False,1,3\n");
  const CommandResult result = run_weft(scratch, "plan compare --json --model gpt3-175b " + sample);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json out = Json::parse(result.out);
  EXPECT_EQ(out["rows"], 3);
  EXPECT_EQ(out["both_fit"], 1);
  EXPECT_EQ(out["neither_fits"], 1);
  EXPECT_EQ(out["theirs_alone_fits"], 1);
  EXPECT_EQ(out["within_20_pct"], 0);
  EXPECT_GT(out["time"][0]["median_ratio"].get<double>(), 1000);
  EXPECT_EQ(out["fit"].size(), 1u);
}

TEST(PlanSearch, BadInputIsNamed) {
  const struct {
    const char* arguments;
    int code;
    const char* says;
  } rows[] = {
      {"gpt3-176b --devices 8 --batch 8", 2, "did you mean 'gpt3-175b'"},
      {"megatron-1t --devices 8 --batch 8", 1, "nearest: "},
      {"gpt3-13b --devices 1009 --batch 8", 2, "1009 devices cannot be divided"},
      {"gpt3-13b --devices 8 --batch 8 --device a1000", 2, "no device is named"},
      {"gpt3-13b --devices 8 --batch 8 --framework megatron", 2, "no framework is named"},
      {"gpt3-13b --devices 0 --batch 8", 2, "--devices"},
      {"gpt3-13b --devices 8 --batch 8 --price 1,2", 2, "2 prices for 1 kinds"},
      {"--devices 8 --batch 8", 2, "a model is needed"},
  };
  for (const auto& row : rows) {
    const Scratch scratch;
    const CommandResult result = run_weft(scratch, std::string("plan search ") + row.arguments);
    EXPECT_EQ(result.code, row.code) << row.arguments << result.err;
    EXPECT_NE(result.err.find(row.says), std::string::npos) << row.arguments << ": " << result.err;
  }
}

}  // namespace
}  // namespace weft

// `weft net sync` as its users meet it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <vector>

#include "tests/cross_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;  // in alphabetic order
}

Json sync_json(const Scratch& scratch, const std::string& words) {
  const CommandResult result = run_weft(scratch, "net sync --json " + words);
  EXPECT_EQ(result.code, 0) << result.err;
  return result.code == 0 ? Json::parse(result.out) : Json();
}

TEST(NetSync, JsonHasTheSameKeysForEver) {
  const Scratch scratch;
  const Json j = sync_json(scratch, "--slow 3:4 --parameters 1e6 --modes bsp asp ssp:bound=8");
  using Keys = std::vector<std::string>;
  EXPECT_EQ(j["schema"], 1);
  EXPECT_EQ(keys_of(j), (Keys{"jitter", "model", "parameters", "ranks", "runs", "schema", "seconds",
                              "seed", "slow", "step_s", "steps", "synthetic_loss_half_steps"}));
  EXPECT_EQ(j["slow"], Json::parse(R"([{"rank": 3, "factor": 4.0}])"));
  ASSERT_EQ(j["runs"].size(), 3u);
  const Json& run = j["runs"][2];
  EXPECT_EQ(keys_of(run), (Keys{"even", "kept", "mode", "others_steps_per_s",
                                "others_steps_per_s_slowed", "others_waiting", "slowed"}));
  EXPECT_EQ(keys_of(run["slowed"]), (Keys{"algorithm", "bytes_per_rank_step", "clock_difference",
                                          "events", "ranks", "seconds"}));
  ASSERT_EQ(run["slowed"]["ranks"].size(), 4u);
  EXPECT_EQ(keys_of(run["slowed"]["ranks"][0]),
            (Keys{"bytes_per_step", "steps", "steps_per_s", "waiting_s"}));
  EXPECT_EQ(run["mode"], "ssp:bound=8");
  EXPECT_EQ(run["slowed"]["clock_difference"], 8);
  EXPECT_LT(j["runs"][0]["kept"].get<double>(), 0.3);
  EXPECT_GT(j["runs"][1]["kept"].get<double>(), 0.99);
}

TEST(NetSync, TheTableEndsWithAVerdict) {
  const Scratch scratch;
  const std::string words =
      "net sync --ranks 4 --step 60ms --slow 3:4 --parameters 1e6 --link 200Mbit/s,100us --modes "
      "bsp bsp:backup=1 ssp:bound=3 asp local:period=8 diloco:period=50 ";
  const CommandResult result = run_weft(scratch, words + "--steps 100 --seed 7 --jitter 0.1");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out.rfind("mode ", 0), 0u);
  EXPECT_NE(result.out.find("model:"), std::string::npos);
  EXPECT_NE(result.out.find(" takes the most steps beside slow ranks: "), std::string::npos);
  EXPECT_NE(result.out.find("those of bsp; the others keep "), std::string::npos);
  const CommandResult again = run_weft(scratch, words + "--steps 100 --seed 7 --jitter 0.1");
  EXPECT_EQ(result.out, again.out);
  const CommandResult csv = run_weft(scratch, words + "--csv");
  EXPECT_EQ(csv.out.rfind("mode,even steps/s,slowed steps/s,kept %,", 0), 0u);
}

TEST(NetSync, CodecsAndLinksOfTheirOwn) {
  const Scratch scratch;
  const auto bytes = [&](const std::string& words) {
    return sync_json(scratch, "--steps 40 " + words)["runs"][0]["even"]["bytes_per_rank_step"]
        .get<double>();
  };
  const double plain = bytes("--modes local:period=4");
  EXPECT_NEAR(bytes("--modes local:period=4 --codec fp16"), plain / 2, 0.01 * plain);
  EXPECT_NEAR(bytes("--modes local:period=4,codec=fp16"), plain / 2, 0.01 * plain);
  EXPECT_NEAR(bytes("--modes local:period=4,codec=fp16 --codec none"), plain, 0.01 * plain);
  const auto time = [&](const std::string& words) {
    return sync_json(scratch, "--steps 8 --modes bsp " + words)["runs"][0]["even"]["seconds"]
        .get<double>();
  };
  EXPECT_GT(time("--rank-link 1:1Gbit/s,10us --rank-link 2:2Gbit/s,10us"), 2 * time(""));
  EXPECT_NE(
      run_weft(scratch, "net sync --modes local:adaptive --loss-half 50").out.find("synthetic"),
      std::string::npos);
}

struct BadSync {
  const char* why;
  std::string arguments;
  std::string says;
};

TEST(NetSync, BadUseIsExplained) {
  const Scratch scratch;
  const std::vector<BadSync> table = {
      {"nothing", "", "--modes"},
      {"an unknown mode", "--modes bsq", "did you mean 'bsp'?"},
      {"a bad parameter", "--modes ssp:bound=-1", "'bound'"},
      {"all mistakes at once", "--modes bsp --step x --link y", "--link is"},
      {"no such rank", "--modes bsp --slow 4:2", "rank from 0 to 3"},
      {"no factor", "--modes bsp --slow 3", "RANK:FACTOR"},
      {"a link without a unit", "--modes bsp --link 200,1ms", "BANDWIDTH,LATENCY"},
      {"a rank's link", "--modes bsp --rank-link 1Gb/s,1ms", "--rank-link is"},
      {"no ranks", "--modes bsp --ranks 0", "--ranks"},
      {"no time", "--modes bsp --step 0s", "--step is"},
      {"an unknown codec", "--modes bsp --codec int9", "int9"},
      {"a linear codec at servers", "--modes asp --codec powersgd", "needs a sum"},
      {"a codec for neighbours", "--modes gossip --codec int8", "mixes parameters"},
      {"a codec with an optimizer", "--modes local --codec dgc", "contains an optimizer"},
      {"two codecs", "--modes diloco:codec=int4 --codec int8", "names another"},
      {"lazy", "--modes lazy", "has no values"},
      {"adaptive", "--modes local:adaptive", "has none"},
      {"too many backup workers", "--modes bsp:backup=4", "at most 3"},
      {"too long", "--modes bsp --ranks 2000 --steps 1000000", "at most"},
      {"too short", "--modes bsp --seconds 1ms", "no rank ended a step"},
  };
  for (const BadSync& row : table) {
    SCOPED_TRACE(row.why);
    const CommandResult result = run_weft(scratch, "net sync " + row.arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find(row.says), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

}  // namespace
}  // namespace weft

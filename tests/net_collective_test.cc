// `weft net collective` as its users meet it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "tests/cross_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;

std::string topology_example(const std::string& name) {
  return fixture("../../examples/topologies/" + name);
}

Json collective_json(const Scratch& scratch, const std::string& words) {
  const CommandResult result = run_weft(scratch, "net collective --json " + words);
  EXPECT_EQ(result.code, 0) << result.err;
  return result.code == 0 ? Json::parse(result.out) : Json();
}

constexpr const char* kSwitch = "--topology switch:latency=5us,bandwidth=12.5GB/s --ranks 8 ";

TEST(NetCollective, AutoTriesSynthesisAndPrintsTheBound) {
  const Scratch scratch;
  const Json j =
      collective_json(scratch, "--bytes 1GB --topology " + topology_example("uneven-pair.yaml"));
  EXPECT_EQ(j["algorithm"], "synthesised");
  EXPECT_NEAR(j["cut_bound_s"].get<double>(), 0.016, 1e-9);
  EXPECT_GE(j["time_s"].get<double>(), j["cut_bound_s"].get<double>());
  EXPECT_GT(j["trees"].get<int>(), 1);
  EXPECT_GT(j["considered"].size(), 8u);
  const CommandResult text = run_weft(
      scratch, "net collective --bytes 1GB --topology " + topology_example("uneven-pair.yaml"));
  EXPECT_NE(text.out.find("cut bound (no schedule of ranks alone is faster, latency apart) 16 ms"),
            std::string::npos)
      << text.out;
}

TEST(NetCollective, SchedulesGoOutAndComeBack) {
  const Scratch scratch;
  const std::string file = scratch.path("schedule.json");
  const std::string where = "--bytes 1GB --topology " + topology_example("dgx1.yaml");
  const Json out =
      collective_json(scratch, where + " --operation all-gather --schedule-out " + file);
  const Json back = collective_json(scratch, where + " --schedule " + file);
  EXPECT_EQ(back["operation"], "all-gather");
  EXPECT_EQ(back["algorithm"], out["algorithm"]);
  EXPECT_EQ(back["ranks"], 8);
  EXPECT_DOUBLE_EQ(back["time_s"].get<double>(), out["time_s"].get<double>());
}

TEST(NetCollective, SlotsLimitInNetworkSums) {
  const Scratch scratch;
  const Json free = collective_json(scratch, std::string(kSwitch) + "--algorithm in-network");
  EXPECT_NEAR(free["time_s"].get<double>(), 8.010e-3, 1e-9);
  const std::string limits = "--algorithm in-network --slots 100 --packet 1000 --rtt 20us";
  const Json limited = collective_json(scratch, kSwitch + limits);
  EXPECT_NEAR(limited["time_s"].get<double>(), 20.010e-3, 1e-9);  // 100 x 1000 B / 20 us = 5 GB/s
  const Json& job = limited["in_network"]["jobs"][0];
  EXPECT_NEAR(job["effective_bytes_per_s"].get<double>(), 5e9, 10);
  EXPECT_EQ(job["limited_by"], "slots");
  EXPECT_NE(limited["in_network"]["model"].get<std::string>().find("slots x payload / RTT"),
            std::string::npos);
  const Json two = collective_json(scratch, kSwitch + limits + " --jobs 2");
  ASSERT_EQ(two["in_network"]["jobs"].size(), 2u);
  EXPECT_NEAR(two["time_s"].get<double>(), 40.010e-3, 1e-9);
  const Json lost = collective_json(scratch, kSwitch + limits + " --loss 0.001");
  EXPECT_EQ(lost["in_network"]["jobs"][0]["limited_by"], "slots");
  EXPECT_GT(lost["time_s"].get<double>(), limited["time_s"].get<double>());
  const Json none = collective_json(
      scratch, std::string(kSwitch) + "--algorithm in-network --slots 0 --servers 2");
  EXPECT_EQ(none["in_network"]["jobs"][0]["fallback_share"], 1);
  EXPECT_NEAR(none["time_s"].get<double>(), 10e-6 + 4 * 8e-3, 1e-9);
}

TEST(NetCollective, PresetsDifferInHowJobsShare) {
  const Scratch scratch;
  for (const auto& [preset, sharing, share] : {std::tuple{"switchml", "static", 0.0},
                                               {"atp", "shared", 0.0},
                                               {"sharp", "exclusive", 1.0}}) {
    const Json j =
        collective_json(scratch, std::string(kSwitch) + "--algorithm in-network --jobs 2 " +
                                     "--in-network-preset " + preset);
    EXPECT_EQ(j["in_network"]["sharing"], sharing);
    EXPECT_EQ(j["in_network"]["jobs"][1]["fallback_share"], share) << preset;
    EXPECT_FALSE(j["in_network"]["source"].get<std::string>().empty());
  }
}

TEST(NetCollective, BadInputIsNamed) {
  const Scratch scratch;
  const std::string head =
      R"({"format":"weft-collective","version":1,"operation":"broadcast","ranks":2,"root":0,)"
      R"("chunks":{"count":1},"whole":1,"programs":[)";
  const std::string in = R"("source":{"buffer":"input","count":1})";
  const std::string out = R"("target":{"buffer":"output","count":1})";
  const std::string take = R"({"do":"copy",)" + in + "," + out + "}";
  const std::string wait =
      R"({"ops":[{"do":"receive","peer":1,"target":{"buffer":"scratch","count":1}}]},)";
  const std::string receive = R"({"ops":[{"do":"receive","peer":0,)" + out + "}]}";
  const std::string cyclic = scratch.write(
      "cyclic.json",
      head + R"({"scratch":{"count":1},"streams":[[)" + wait + R"({"ops":[)" + take +
          R"(,{"do":"send","peer":1,)" + in + R"(}]}]]},{"streams":[[)" + receive +
          R"(,{"ops":[{"do":"send","peer":0,"source":{"buffer":"output","count":1}}]}]]}]})");
  const std::string incomplete =
      scratch.write("incomplete.json", head + R"({"streams":[[{"ops":[)" + take +
                                           R"(]}]]},{"streams":[[{"ops":[]}]]}]})");
  const std::string other = scratch.write("other.json", "{}");
  struct Row {
    const char* why;
    std::string words;
    std::vector<std::string> says;
  };
  const std::string on = "--topology switch:hosts=4 ";
  for (const Row& row : std::vector<Row>{
           {"cyclic schedule", on + "--schedule " + cyclic, {cyclic, "deadlock"}},
           {"incomplete schedule", on + "--schedule " + incomplete, {incomplete, "rank 1"}},
           {"no schedule", on + "--schedule " + other, {other, "format"}},
           {"no file", on + "--schedule " + scratch.path("none"), {"none"}},
           {"two sources", on + "--algorithm ring --schedule " + cyclic, {"--schedule"}},
           {"slots of a ring", on + "--algorithm ring --slots 4", {"in-network"}},
           {"preset", on + "--algorithm in-network --in-network-preset atb", {"'atb'", "'atp'"}},
           {"packet", on + "--algorithm in-network --packet big", {"--packet", "'big'"}},
           {"too many ranks", "--topology switch:hosts=80 --algorithm synthesised", {"80", "64"}},
           {"near miss", on + "--algorithm synthesized", {"synthesised"}}}) {
    SCOPED_TRACE(row.why);
    const CommandResult result = run_weft(scratch, "net collective " + row.words);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    for (const std::string& part : row.says) {
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in\n" << result.err;
    }
  }
}

}  // namespace
}  // namespace weft

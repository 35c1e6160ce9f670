#include "pipeline/schedule_json.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "pipeline/schedules.h"
#include "pipeline/transforms.h"

namespace weft::pipeline {
namespace {

TEST(ScheduleJson, EveryScheduleComesBackEqual) {
  for (const Generator& generator : generators()) {
    const Schedule plain = *generate(generator.name, {.stages = 4, .micro_batches = 8});
    for (const Schedule& schedule :
         {plain, with_listed_transfers(plain, "fp8"), with_recomputation(plain, 1.0 / 3)}) {
      const auto again = parse_schedule(write_schedule(schedule));
      ASSERT_TRUE(again.ok()) << generator.name << ": " << again.error().text();
      EXPECT_EQ(*again, schedule) << generator.name;
    }
  }
}

TEST(ScheduleJson, MistakesAreNamed) {
  using Json = nlohmann::json;
  const Json good =
      Json::parse(write_schedule(*generate("1f1b", {.stages = 2, .micro_batches = 2})));
  struct Row {
    const char* sentence;
    std::function<void(Json&)> plant;
    const char* want;
  };
  const Row rows[] = {
      {"another format", [](Json& j) { j["format"] = "weft-collective"; }, "format must be"},
      {"a later version", [](Json& j) { j["version"] = 2; }, "version must be"},
      {"no devices", [](Json& j) { j.erase("devices"); }, "devices is missing"},
      {"a huge number", [](Json& j) { j["chunks"] = 1ULL << 63; }, "chunks must be a whole number"},
      {"a fraction", [](Json& j) { j["slices"] = 1.5; }, "slices must be a whole number"},
      {"a slip", [](Json& j) { j["activations"] = 1; }, "did you mean 'activation'?"},
      {"a list of words", [](Json& j) { j["activation"][0] = "a"; },
       "activation must hold numbers"},
      {"a kind that is unknown", [](Json& j) { j["programs"][0][0]["do"] = "forwards"; },
       "programs[0][0].do must be one of"},
      {"no micro-batch", [](Json& j) { j["programs"][1][0].erase("micro_batch"); },
       "programs[1][0].micro_batch is missing"},
      {"an operation that is a number", [](Json& j) { j["programs"][1][0] = 7; },
       "programs[1][0] must be an object"},
      {"a program that is a number", [](Json& j) { j["programs"][1] = 7; },
       "programs must hold lists"},
      {"a route that is a number", [](Json& j) { j["routes"][0] = 7; }, "routes must hold lists"},
      {"a negative time", [](Json& j) { j["programs"][0][0]["seconds"] = -1; }, "takes -1 s"},
      {"works that are not there", [](Json& j) { j["micro_batches"] = 1 << 20; }, "works"},
      {"a list at the top", [](Json& j) { j = Json::array(); }, "the schedule must be an object"},
  };
  for (const Row& row : rows) {
    Json bad = good;
    row.plant(bad);
    const auto schedule = parse_schedule(bad.dump());
    ASSERT_FALSE(schedule.ok()) << row.sentence;
    EXPECT_NE(schedule.error().what.find(row.want), std::string::npos)
        << row.sentence << ": " << schedule.error().what;
  }
  EXPECT_FALSE(parse_schedule("{").ok());
  EXPECT_FALSE(parse_schedule("{\"programs\": 1e999}").ok());
}

}  // namespace
}  // namespace weft::pipeline

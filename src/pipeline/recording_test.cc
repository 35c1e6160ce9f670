#include "pipeline/recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "pipeline/costs.h"
#include "pipeline/schedules.h"
#include "pipeline/transforms.h"
#include "pipeline/what_if.h"

namespace weft::pipeline {
namespace {

// A schedule with all kinds of times, and its recording.
Schedule timed_schedule(const char* name, double transfer, std::vector<double> slowdown = {}) {
  Schedule schedule = *generate(name, {.stages = 4, .micro_batches = 8});
  Costs costs = even_costs(schedule, {1, 1.25, 0.75, /*watts=*/10});
  costs.transfer = transfer;
  costs.slowdown = std::move(slowdown);
  costs.optimizer = 0.5;
  EXPECT_TRUE(apply_costs(schedule, costs).ok());
  return schedule;
}

Recording recorded(const Schedule& schedule) { return record(schedule, *solve(schedule)); }

TEST(Recording, EveryScheduleIsReadBackAndReplaysInItsTime) {
  for (const Generator& generator : generators()) {
    const Schedule plain = timed_schedule(std::string(generator.name).c_str(), 0.125);
    for (const Schedule& schedule : {plain, with_listed_transfers(plain)}) {
      SCOPED_TRACE(generator.name);
      const Recording before = recorded(schedule);
      const auto after = parse_recording(write_recordings({before}));
      ASSERT_TRUE(after.ok()) << after.error().text();
      ASSERT_EQ(after->steps.size(), 1u);
      EXPECT_EQ(after->name, schedule.name);
      const Schedule& again = after->steps[0].schedule;
      ASSERT_EQ(again.programs.size(), schedule.programs.size());
      for (std::size_t d = 0; d < schedule.programs.size(); ++d) {
        ASSERT_EQ(again.programs[d].size(), schedule.programs[d].size());
        for (std::size_t i = 0; i < schedule.programs[d].size(); ++i) {
          Op want = schedule.programs[d][i];
          const Op& got = again.programs[d][i];
          EXPECT_NEAR(got.seconds, want.kind == Kind::kReceive ? 0 : want.seconds, 1e-9);
          EXPECT_NEAR(got.joules, want.joules, 1e-9);
          want.seconds = got.seconds, want.joules = got.joules;
          EXPECT_EQ(got, want);
        }
      }
      const double seconds = before.steps[0].seconds;
      EXPECT_NEAR(after->steps[0].seconds, seconds, 1e-9);
      EXPECT_NEAR(timeline_of(after->steps[0]).idle_fraction, solve(schedule)->idle_fraction, 1e-9);
      EXPECT_NEAR(replay(*after, {})[0].makespan, seconds, 1e-6);
    }
  }
}

TEST(Recording, MistakesAreNamed) {
  using Json = nlohmann::json;
  const Json good = Json::parse(write_recordings({recorded(timed_schedule("1f1b", 0))}));
  std::size_t first = 0;
  while (good["traceEvents"][first]["ph"] != "X") ++first;
  struct Row {
    const char* sentence;
    std::function<void(Json&, Json&)> plant;  // the document, its first operation
    const char* want;
  };
  const Row rows[] = {
      {"no list",
       [](Json& j, Json&) {
         j = Json{{"a", 1}};
       },
       "no list traceEvents"},
      {"a number", [](Json& j, Json&) { j["traceEvents"][0] = 7; }, "event 0 must be an object"},
      {"no time", [](Json&, Json& e) { e.erase("ts"); }, "it has no ts"},
      {"a negative time", [](Json&, Json& e) { e["dur"] = -1; }, "its dur must be a number"},
      {"no arguments", [](Json&, Json& e) { e.erase("args"); }, "it has no args"},
      {"a huge chunk", [](Json&, Json& e) { e["args"]["chunk"] = 1ULL << 63; }, "its chunk must"},
      {"far away", [](Json&, Json& e) { e["args"]["micro_batch"] = 1 << 19; }, "cannot be those"},
      {"twice", [](Json& j, Json& e) { j["traceEvents"].push_back(e); }, "a second time"},
      {"elsewhere", [](Json&, Json& e) { e["tid"] = 6; }, "is on device"},
      {"missing", [](Json&, Json& e) { e["cat"] = "other"; }, "has no forward pass"},
      {"two runs", [](Json&, Json& e) { e["pid"] = 9; }, "of 2 processes"},
      {"nothing", [](Json& j, Json&) { j["traceEvents"].clear(); }, "no pipeline operation"},
  };
  for (const Row& row : rows) {
    Json bad = good;
    // Rows that replace the document must not write through a reference into it.
    Json event = bad["traceEvents"][first];
    Json document = bad;
    row.plant(document, event);
    if (document == bad) document["traceEvents"][first] = event;
    const auto got = parse_recording(document.dump());
    ASSERT_FALSE(got.ok()) << row.sentence;
    EXPECT_NE(got.error().what.find(row.want), std::string::npos)
        << row.sentence << ": " << got.error().what;
  }
  EXPECT_FALSE(parse_recording("{").ok());
}

TEST(WhatIf, TheSlowWorkerIsToBlame) {
  const Recording slow = recorded(timed_schedule("1f1b", 0, {1, 1, 1.5, 1}));
  const double even = solve(timed_schedule("1f1b", 0))->makespan;
  const Causes causes = find_causes(slow);
  EXPECT_NEAR(causes.recorded_s, causes.replayed_s, 1e-9);
  EXPECT_NEAR(causes.ideal_s, even, 1e-9);
  for (const Cause& cause : causes.causes) {
    if (cause.part == Part{Part::What::kWorker, 2, Kind::kForward}) {
      EXPECT_NEAR(cause.mended_s, even, 1e-9);
      EXPECT_NEAR(cause.alone_s, causes.replayed_s, 1e-9);
    } else if (cause.part.what == Part::What::kWorker) {
      EXPECT_NEAR(cause.mended_s, causes.replayed_s, 1e-9);
      EXPECT_NEAR(cause.alone_s, even, 1e-9);
    }
  }
  // The slow device waits for two forwards, runs 8 micro-batches in 4.5 s each, waits 1.5 s for the
  // first backward pass of the last device, and has two backward passes and an update behind it.
  EXPECT_NEAR(causes.replayed_s, 2 + 8 * 4.5 + 1.5 + 2 * 2 + 0.5, 1e-9);
}

TEST(WhatIf, TheSlowKindIsToBlame) {
  Schedule schedule = timed_schedule("zb-h1", 0);
  const auto slow = std::find_if(schedule.programs[1].begin(), schedule.programs[1].end(),
                                 [](const Op& op) { return op.kind == Kind::kBackwardInput; });
  slow->seconds *= 5;
  const Causes causes = find_causes(recorded(schedule));
  for (const Cause& cause : causes.causes) {
    const bool guilty = cause.part.what == Part::What::kKind
                            ? cause.part.kind == Kind::kBackwardInput
                            : cause.part.worker == 1;
    EXPECT_EQ(cause.alone_s > causes.ideal_s + 1e-9, guilty) << name_of(cause.part);
  }
}

TEST(WhatIf, PartsAreNamed) {
  for (const char* name : {"all", "worker=3", "op=backward-input", "op=transfer"}) {
    const auto part = parse_part(name);
    ASSERT_TRUE(part.ok()) << name;
    EXPECT_EQ(name_of(*part), name);
  }
  EXPECT_EQ(parse_part("op=bakward").error().hint, "did you mean 'op=backward'?");
  for (const char* bad : {"worker=-1", "worker=x", "worker=", "", "3"}) {
    EXPECT_FALSE(parse_part(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace weft::pipeline

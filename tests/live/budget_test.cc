// Budgets that hold, with a real daemon, agents and ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kSteadyScript =
    "trap 'echo stopped >>stops; exit 0' TERM; while :; do sleep 0.05; done";

// Everybody may use this in all, and then `action`.
std::string budgets(const char* device_hours, const char* action) {
  return std::string("action: ") + action + "\nusers: {\"*\": {device_hours: " + device_hours +
         "}}\n";
}

TEST(Budget, JobsOfWhoHasSpentItAreHeldUntilThereIsMore) {
  Scratch files;
  const std::string file = files.write("budgets.yaml", budgets("0.0005", "hold"));  // 1.8 s
  Up up({"--cluster", "1x1", "--budgets", file});
  const std::string first = up.submit("first", kSteadyScript);
  const std::string second = up.submit("second", "true");
  ASSERT_TRUE(up.comes_to(first, "running"));
  ASSERT_TRUE(up.comes_to(second, "held"));
  const Json view = up.ask("GET", "/v1/jobs/" + second);
  EXPECT_THAT(view.at("why").get<std::string>(), HasSubstr("budget of "));
  EXPECT_THAT(up.weft("explain second").out, HasSubstr("of 0.0005 device hours spent"));
  EXPECT_EQ(up.state(first), "running") << "what runs goes on";
  const std::string third = up.submit("third", "true");
  EXPECT_EQ(up.state(third), "held") << "at once";
  EXPECT_THAT(up.weft("usage").out, HasSubstr("budget of"));
  EXPECT_EQ(up.ask("GET", "/v1/usage")["budgets"][0]["exceeded"], true);
  up.end(SIGKILL);
  up.start();
  EXPECT_EQ(up.state(second), "held") << "also after a restart";
  up.weft("cancel first");
  ASSERT_TRUE(up.comes_to(first, "cancelled"));
  EXPECT_EQ(up.state(second), "held");
  up.end(SIGKILL);
  files.write("budgets.yaml", budgets("100", "hold"));
  up.start();
  EXPECT_TRUE(up.comes_to(second, "finished")) << up.weft("events").out;
  EXPECT_TRUE(up.comes_to(third, "finished"));
  const CommandResult replayed = up.weft("replay");
  EXPECT_EQ(replayed.code, 0) << replayed.out << replayed.err;
}

TEST(Budget, WhatRunsIsStoppedIfThatWasChosen) {
  Scratch files;
  Up up({"--cluster", "1x1", "--budgets", files.write("budgets.yaml", budgets("0.0005", "stop"))});
  const std::string job = up.submit("a", kSteadyScript);
  ASSERT_TRUE(up.comes_to(job, "running"));
  ASSERT_TRUE(up.comes_to(job, "held")) << up.weft("events").out;
  EXPECT_EQ(slurp(up.scratch.path("stops")), "stopped\n");
  EXPECT_THAT(up.ask("GET", "/v1/jobs/" + job).at("why").get<std::string>(),
              HasSubstr("budget of "));
  up.end(SIGKILL);
  files.write("budgets.yaml", budgets("100", "stop"));
  up.start();
  EXPECT_TRUE(up.comes_to(job, "running")) << up.weft("events").out;
  const CommandResult replayed = up.weft("replay");
  EXPECT_EQ(replayed.code, 0) << replayed.out << replayed.err;
}

TEST(Budget, AMalformedFileIsRefusedWithItsLines) {
  Scratch files;
  const std::string file = files.write("b.yaml", "users:\n  ann: {cost: x}\n  bob: {action: y}\n");
  const CommandResult refused =
      run_weft(files, "up --cluster 1x1 --store " + files.path("store") + " --budgets " + file);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("b.yaml:2: cost is 'x'"));
  EXPECT_THAT(refused.err, HasSubstr("b.yaml:3: action is 'y'"));
}

}  // namespace
}  // namespace weft

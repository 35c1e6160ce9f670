#include "runtime/launch/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

namespace weft::runtime {
namespace {

JobFacts facts() {
  JobFacts f;
  f.job = "1b4e28ba";
  f.store = "10.0.0.1:4000";
  f.master_address = "10.0.0.1";
  f.master_port = 4001;
  f.log_dir = "/logs";
  f.rules = {.ranks = 5, .least = 2, .most = 5, .max_restarts = 3, .grace_s = 1};
  f.hosts = {{"a", "", 2}, {"b", "", 3}};
  return f;
}

TEST(Environment, IsThatOfTorchrunAndOurs) {
  const Variables variables = rank_variables(facts(), {3, 9, 2, 5, true});
  const std::map<std::string, std::string> got(variables.begin(), variables.end());
  const std::map<std::string, std::string> want = {{"RANK", "3"},
                                                   {"LOCAL_RANK", "1"},
                                                   {"WORLD_SIZE", "5"},
                                                   {"LOCAL_WORLD_SIZE", "3"},
                                                   {"GROUP_RANK", "1"},
                                                   {"GROUP_WORLD_SIZE", "2"},
                                                   {"ROLE_RANK", "3"},
                                                   {"ROLE_WORLD_SIZE", "5"},
                                                   {"ROLE_NAME", "default"},
                                                   {"MASTER_ADDR", "10.0.0.1"},
                                                   {"MASTER_PORT", "4001"},
                                                   {"TORCHELASTIC_RUN_ID", "1b4e28ba"},
                                                   {"TORCHELASTIC_RESTART_COUNT", "1"},
                                                   {"TORCHELASTIC_MAX_RESTARTS", "3"},
                                                   {"WEFT_JOB", "1b4e28ba"},
                                                   {"WEFT_JOB_EPOCH", "2"},
                                                   {"WEFT_MEMBER", "9"},
                                                   {"WEFT_STORE", "10.0.0.1:4000"},
                                                   {"WEFT_LOG_DIR", "/logs"},
                                                   {"WEFT_JOIN", "1"},
                                                   {"WEFT_ELASTIC", "2:5"}};
  EXPECT_EQ(got, want);
}

TEST(Environment, SaysNothingOfJoiningOrElasticityWhereThereIsNone) {
  JobFacts fixed = facts();
  fixed.rules = {.ranks = 5, .max_restarts = 0};
  for (const auto& [name, value] : rank_variables(fixed, {0, 0, 1, 5, false})) {
    EXPECT_NE(name, "WEFT_JOIN");
    EXPECT_NE(name, "WEFT_ELASTIC");
  }
}

TEST(Environment, TakesVariablesThatAreNotItsOwn) {
  const auto good = parse_variable("DATA=/a=b c");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, std::pair(std::string("DATA"), std::string("/a=b c")));
  EXPECT_TRUE(parse_variable("MASTER_PORT=1").ok());
  for (const char* bad : {"DATA", "=x", "1A=x", "A B=x", "A;B=x", "RANK=3", "WEFT_MEMBER=3"}) {
    EXPECT_FALSE(parse_variable(bad).ok()) << bad;
  }
}

TEST(Environment, InheritsWhatNoOuterLauncherSet) {
  ASSERT_EQ(setenv("WEFT_TEST_LEFT_OVER", "outer", 1), 0);
  ASSERT_EQ(setenv("LAUNCH_TEST_KEPT", "kept", 1), 0);
  ASSERT_EQ(setenv("LAUNCH_TEST_CHANGED", "old", 1), 0);
  const auto all = full_environment({{"LAUNCH_TEST_KEPT", "default"}, {"LAUNCH_TEST_NEW", "set"}},
                                    {{"LAUNCH_TEST_CHANGED", "new"}});
  EXPECT_THAT(all, testing::Contains("LAUNCH_TEST_KEPT=kept"));
  EXPECT_THAT(all, testing::Contains("LAUNCH_TEST_NEW=set"));
  EXPECT_THAT(all, testing::Contains("LAUNCH_TEST_CHANGED=new"));
  EXPECT_THAT(all, testing::Not(testing::Contains(testing::StartsWith("WEFT_TEST_LEFT_OVER"))));
}

}  // namespace
}  // namespace weft::runtime

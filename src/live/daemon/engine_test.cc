#include "live/daemon/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace weft::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Capabilities kAll = {true, true, true, true, true, true, true, true};

TEST(EngineNeeds, EverythingIsAllowedWhereEverythingIsStated) {
  JobSpec job;
  job.share.percent = 50;
  job.bandwidth.limit = 1e6;
  job.checkpoint.preempt = Preemption::kFreeze;
  job.resize = Resizing::kInPlace;
  EXPECT_TRUE(check_needs(job, {"all", kAll}).ok());
  EXPECT_TRUE(check_needs(JobSpec{}, {"none", {}}).ok());
  for (const Composition& policy : known_policies()) {
    EXPECT_TRUE(check_needs(policy, {"all", kAll}).ok()) << policy.name;
  }
}

TEST(EngineNeeds, WhatAJobMissesIsNamedAllAtOnce) {
  JobSpec job;
  job.share.percent = 50;
  job.bandwidth.guarantee = 1e6;
  const Status refused = check_needs(job, {"queue", {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(refused.error().what, HasSubstr("'queue' cannot do: parts of devices (share); "));
  EXPECT_THAT(refused.error().what, HasSubstr("(bandwidth)"));
  EXPECT_THAT(refused.error().hint, HasSubstr("leave `share` out"));
  EXPECT_THAT(refused.error().hint, HasSubstr("leave `bandwidth` out"));
  EXPECT_FALSE(check_needs(job, {"queue", {.bandwidth = true}}).ok());
  EXPECT_TRUE(check_needs(job, {"queue", {.fraction = true, .bandwidth = true}}).ok());
  job.checkpoint.preempt = Preemption::kFreeze;
  const Status held = check_needs(job, {"queue", {.fraction = true, .bandwidth = true}});
  ASSERT_FALSE(held.ok());
  EXPECT_THAT(held.error().what, HasSubstr("(checkpoint.preempt: freeze)"));
  EXPECT_THAT(held.error().hint, HasSubstr("write `preempt: checkpoint`"));
  job = {};
  job.resize = Resizing::kInPlace;
  const Status grown = check_needs(job, {"queue", {.resize = true}});
  ASSERT_FALSE(grown.ok());
  EXPECT_THAT(grown.error().what, HasSubstr("(resize: in_place)"));
  EXPECT_THAT(grown.error().hint, HasSubstr("leave `resize` out"));
}

TEST(EngineNeeds, PoliciesThatNeedMoreThanWholeDevicesAreRefused) {
  std::vector<std::string> refused;
  for (const Composition& policy : known_policies()) {
    if (!check_needs(policy, {"plain", {}}).ok()) refused.push_back(policy.name);
  }
  std::sort(refused.begin(), refused.end());
  EXPECT_THAT(refused, ElementsAre("fgd", "gandiva", "lucid", "max-min-packed", "muri", "synergy"));
  const Status tuned = check_needs(*find_policy("synergy"), {"plain", {.device_index = true}});
  EXPECT_THAT(tuned.error().text(), HasSubstr("without `tune`"));
  EXPECT_TRUE(check_needs(*find_policy("fgd"), {"plain", {.device_index = true}}).ok());
}

TEST(EngineNeeds, NamesAreThoseThatAreStated) {
  EXPECT_THAT(names_of({.fraction = true, .claim = true}), ElementsAre("fraction", "claim"));
  EXPECT_EQ(names_of(kAll).size(), 8u);
}

}  // namespace
}  // namespace weft::live

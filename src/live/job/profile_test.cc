#include "live/job/profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "live/job/submission.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

Submission submitted(const JobSpec& job) {
  static const Cluster cluster = *parse_cluster_shorthand("4x2");
  return *make_submission(job, cluster, 0, {});
}

JobSpec tuned_job() {
  JobSpec job;
  job.name = "tuned";
  job.num_nodes = 2;
  job.sync = {"bsp"};
  job.codec = {"none", "int8", "int4"};
  return job;
}

TEST(Profile, MeasuredRatesTakeThePlaceOfBeliefs) {
  const JobSpec job = tuned_job();
  Submission submission = submitted(job);
  ASSERT_EQ(submission.menu->configurations.size(), 3u);
  const auto profile = profile_from_json(Json::parse(R"({"work": 120, "rows": [
      {"workers": 2, "codec": "none", "sync": "bsp", "rate": 6, "scattered_rate": 2,
       "compute_s": 0.5, "bytes_per_step": 1000},
      {"workers": 2, "codec": "int8", "sync": "bsp", "rate": 5, "scattered_rate": 4}]})"));
  ASSERT_TRUE(profile.ok()) << profile.error().what;
  ASSERT_TRUE(apply_profile(*profile, job, submission).ok());
  const auto& menu = submission.menu->configurations;
  ASSERT_EQ(menu.size(), 2u);  // int4 was not measured
  EXPECT_EQ(menu[0].rate, 6);
  EXPECT_EQ(menu[0].scattered_rate, 2);
  EXPECT_EQ(menu[0].traffic.bytes_per_step, 1000);
  EXPECT_EQ(menu[1].codec, "int8");
  EXPECT_EQ(menu[1].scattered_rate, 4);
  EXPECT_EQ(submission.declared_work, 120);
  EXPECT_DOUBLE_EQ(submission.estimate.duration, 20);
}

TEST(Profile, WhatIsAskedForMustBeMeasured) {
  const JobSpec job = tuned_job();
  Submission submission = submitted(job);
  const auto profile = profile_from_json(Json::parse(
      R"({"work": 1, "rows": [{"workers": 2, "codec": "int8", "sync": "bsp", "rate": 5}]})"));
  ASSERT_TRUE(profile.ok());
  const Status applied = apply_profile(*profile, job, submission);
  ASSERT_FALSE(applied.ok());
  EXPECT_NE(applied.error().what.find("codec 'none'"), std::string::npos);
  EXPECT_EQ(submission.menu->configurations.size(), 3u);
}

TEST(Profile, WrongOnesAreRefused) {
  for (const char* text :
       {R"({})", R"([])", R"({"work": 1})", R"({"work": 0, "rows": [{"rate": 1}]})",
        R"({"work": 1, "rows": []})", R"({"work": 1, "rows": [{}]})",
        R"({"work": 1, "rows": [{"rate": -1}]})",
        R"({"work": 1, "rows": [{"rate": 1, "workers": 0}]})",
        R"({"work": 1, "rows": [{"rate": 1, "codec": 3}]})", R"({"work": 1, "rows": [7]})"}) {
    EXPECT_FALSE(profile_from_json(Json::parse(text)).ok()) << text;
  }
}

}  // namespace
}  // namespace weft::live

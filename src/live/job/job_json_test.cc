#include "live/job/job_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "live/job/job_random_testing.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

JobSpec small_job() {
  JobSpec job;
  job.name = "a";
  job.run = "true";
  return job;
}

TEST(JobJson, EveryJobComesBackExactly) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const JobSpec job = random_job(random);
    const std::string text = to_json(job).dump();
    const Result<JobSpec> back = spec_from_json(Json::parse(text));
    ASSERT_TRUE(back.ok()) << "job " << i << ": " << back.error().text() << "\n" << text;
    ASSERT_EQ(*back, job) << "job " << i << ": " << text;
    ASSERT_EQ(to_json(*back).dump(), text);
  }
}

TEST(JobJson, MembersThatAreNotThereHaveTheirDefaults) {
  const Result<JobSpec> job = spec_from_json({{"v", 1}, {"name", "a"}, {"run", "true"}});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(*job, small_job());
}

TEST(JobJson, WritesEveryFieldWithItsUnit) {
  const Json json = to_json(small_job());
  EXPECT_EQ(json["v"], 1);
  EXPECT_EQ(json["checkpoint"]["grace_s"], 30.0);
  EXPECT_EQ(json["resources"]["memory_bytes"], 0);
  EXPECT_EQ(json["bandwidth"]["limit_bytes_per_s"], 0.0);
  EXPECT_EQ(json["resources"]["accelerators"][0]["count"], 1);
}

struct BadJob {
  const char* what;
  const char* path;  // a JSON pointer
  Json value;
  const char* want;
};

TEST(JobJson, IsStrict) {
  const std::vector<BadJob> cases = {
      {"a newer version", "/v", 2, "v is 2; this program reads version 1"},
      {"a version as text", "/v", "1", "v is '1'"},
      {"an unknown member", "/num_node", 2, "unknown member 'num_node'; did you mean 'num_nodes'?"},
      {"an unknown member inside", "/checkpoint/grace", 2, "did you mean 'grace_s'?"},
      {"a fraction", "/num_nodes", 1.5, "num_nodes is 1.5; it must be a whole number"},
      {"text for a number", "/num_nodes", "2", "num_nodes is '2'"},
      {"too large", "/num_nodes", 18446744073709551615ULL, "num_nodes is 18446744073709551615"},
      {"negative", "/num_nodes", -1, "num_nodes is -1"},
      {"zero where it means nothing", "/num_nodes", 0, "num_nodes is 0"},
      {"a number for text", "/name", 7, "name is 7; it must be a string"},
      {"a number for a flag", "/preemptible", 1, "preemptible is 1; it must be true or false"},
      {"an unknown word", "/kind", "batch", "kind is 'batch'; it must be one of training, service"},
      {"no object", "/checkpoint", 5, "checkpoint is 5; it must be an object"},
      {"no list", "/sync", "bsp", "sync is 'bsp'; it must be a list"},
      {"an empty list of devices", "/resources/accelerators", Json::array(), "is empty"},
      {"a signal without SIG", "/checkpoint/signal", "USR1", "each with SIG in front"},
      {"an array that is none", "/array", "1-", "array is '1-'"},
      {"bytes that are no text", "/run", "a\xff", "run holds"},
      {"a NUL", "/envs/A", std::string("a\0b", 3), "envs.A holds"},
      {"two deadlines", "/deadline", {{"after_s", 1}, {"at_unix_s", 2}}, "leave one out"},
      {"what no field alone tells", "/min_workers", 3, "needs max_workers too"},
      {"null", "/time_s", nullptr, "time_s is null"},
  };
  for (const BadJob& c : cases) {
    Json json = to_json(small_job());
    json[Json::json_pointer(c.path)] = c.value;
    const Result<JobSpec> job = spec_from_json(json);
    ASSERT_FALSE(job.ok()) << c.what;
    EXPECT_THAT(job.error().text(), HasSubstr(c.want)) << c.what;
  }
  EXPECT_THAT(spec_from_json(Json::array()).error().text(), HasSubstr("must be an object"));
  Json without = to_json(small_job());
  without.erase("v");
  EXPECT_THAT(spec_from_json(without).error().text(), HasSubstr("v is missing"));
}

TEST(JobJson, TellsEveryMistakeAtOnce) {
  Json json = to_json(small_job());
  json["num_nodes"] = 0;
  json["codec"] = {"int99"};
  json["run"] = "";
  EXPECT_THAT(spec_from_json(json).error().text(),
              AllOf(HasSubstr("num_nodes"), HasSubstr("int99"), HasSubstr("run is missing")));
}

}  // namespace
}  // namespace weft::live

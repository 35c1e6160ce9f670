#include "job_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/wrap.h"
#include "node_page.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

Json job_of(const char* state) {
  return {{"uuid", "67a22858-d500-b713-4d3b-f31387c1d423"},
          {"name", "train"},
          {"user", "ada"},
          {"queue", "default"},
          {"priority", 0},
          {"state", state},
          {"submitted_s", 100.0},
          {"started_s", nullptr},
          {"ended_s", nullptr},
          {"restarts", 0},
          {"failures", 0},
          {"nodes", Json::array()},
          {"devices", 0},
          {"why", ""},
          {"step", 0},
          {"loss", 0},
          {"rate", 0},
          {"way", ""},
          {"idle_s", 0},
          {"remark", ""},
          {"now_s", 400.0}};
}

TEST(JobPage, TimesInWords) {
  const std::vector<std::pair<double, const char*>> table = {
      {-1, "0.0 s"},           {0.44, "0.4 s"},     {9.94, "9.9 s"},
      {42.4, "42 s"},          {119, "119 s"},      {200, "3 min 20 s"},
      {3599.4, "59 min 59 s"}, {7500, "2 h 5 min"}, {273600, "3 d 4 h"},
  };
  for (const auto& [seconds, want] : table) EXPECT_EQ(time_words(seconds), want) << seconds;
}

TEST(JobPage, OfARunningJob) {
  Json job = job_of("running");
  job["started_s"] = 110.0;
  job["nodes"] = {"node-0", "node-1"};
  job["devices"] = 4;
  job["step"] = 120;
  job["rate"] = 9.81;
  job["loss"] = 0.3456;
  job["way"] = "int8/local:period=4";
  job["restarts"] = 2;
  job["failures"] = 1;
  JobExtras extras;
  extras.log = "/tmp/weft/logs/67a22858-d500-b713-4d3b-f31387c1d423/rank-0.log";
  EXPECT_EQ(job_page(job, extras),
            "job        train (67a22858-d500-b713-4d3b-f31387c1d423)\n"
            "state      running for 4 min 50 s\n"
            "devices    4 devices on node-0, node-1\n"
            "method     int8/local:period=4\n"
            "progress   step 120, 9.81 steps/s, loss 0.346\n"
            "times      submitted 5 min 0 s ago, waited 10 s, has run for 4 min 50 s\n"
            "restarts   2; it failed 1 time itself\n"
            "owner      ada, queue default, priority 0\n"
            "logs       /tmp/weft/logs/67a22858-d500-b713-4d3b-f31387c1d423/rank-0.log\n"
            "next       `weft logs train -f` follows its output; `weft cancel train` ends it\n");
}

TEST(JobPage, OfJobsInOtherStates) {
  struct PageRow {
    const char *why, *state;
    Json more;
    JobExtras extras;
    std::vector<const char*> says;
  };
  const std::vector<PageRow> table = {
      {"who waits is told for what",
       "queued",
       {},
       {"67a2", "backfill", "4 devices are not free", 65, ""},
       {"state      queued for 5 min 0 s\n",
        "why        4 devices are not free; predicted to start in 65 s\n", "policy     backfill\n",
        "`weft explain 67a2`"}},
      {"who failed is told why",
       "failed",
       {{"why", "rank 0 ended with code 1"}, {"started_s", 110.0}, {"ended_s", 390.0}},
       {},
       {"state      failed 10 s ago\n", "why        rank 0 ended with code 1\n",
        "waited 10 s, ran 4 min 40 s\n", "`weft logs train` prints"}},
      {"who uses nothing is told so",
       "running",
       {{"started_s", 110.0}, {"idle_s", 200}, {"remark", "rank 3 is slow"}},
       {},
       {"why        rank 3 is slow; has used nothing of its devices for 3 min 20 s\n"}},
      {"a service has replicas",
       "running",
       {{"started_s", 110.0},
        {"service",
         {{"replicas", {1, 2}}, {"min_replicas", 1}, {"max_replicas", 4}, {"qps", 12.5}}}},
       {},
       {"service    2 of 1 to 4 replicas, 12.5 requests/s\n"}},
  };
  for (const PageRow& row : table) {
    Json job = job_of(row.state);
    if (row.more.is_object()) job.update(row.more);
    const std::string page = job_page(job, row.extras);
    for (const char* part : row.says) EXPECT_THAT(page, HasSubstr(part)) << row.why;
    EXPECT_LE(widest_line(page), kPageColumns) << page;
  }
}

TEST(JobPage, AnEndInOneLine) {
  Json job = job_of("finished");
  job.update(Json{{"started_s", 110.0}, {"ended_s", 115.0}});
  EXPECT_EQ(end_words(job), "train finished after 5.0 s");
  job["state"] = "failed";
  job["why"] = "failed: rank 0 exited with 1";
  EXPECT_THAT(end_words(job), HasSubstr("train failed: rank 0 exited with 1 after 5.0 s\n  hint: "
                                        "`weft logs train` prints its output"));
  job["state"] = "cancelled";
  job["why"] = "cancelled by ada";
  EXPECT_EQ(end_words(job), "train cancelled by ada after 5.0 s");
  job = job_of("rejected");
  job["why"] = "the deadline cannot be met";
  EXPECT_THAT(end_words(job), HasSubstr("train rejected: the deadline cannot be met\n  hint: "));
}

TEST(JobPage, ListsAreNarrow) {
  Json job = job_of("queued");
  job["why"] = std::string("it waits for ") + std::string(20, 'x') +
               " and then for many other things that take a long time to be told";
  job["name"] = "a-job-with-a-rather-long-name";
  const Json answer = {{"now_s", 400.0}, {"jobs", {job, job_of("running")}}};
  const std::string page = jobs_page(answer);
  EXPECT_LE(widest_line(page), kPageColumns) << page;
  EXPECT_THAT(page, HasSubstr("67a22858"));
  EXPECT_THAT(page, HasSubstr("a-job-with-a-rather-long-name"));
  EXPECT_THAT(jobs_page({{"now_s", 1.0}, {"jobs", Json::array()}}), HasSubstr("weft jobs --all"));
}

TEST(DaemonPage, SaysHowItIs) {
  const Json status = {{"term", 3},
                       {"policy", "backfill"},
                       {"executor", "local"},
                       {"executor_can", {"fraction", "freeze"}},
                       {"cluster", "2x2"},
                       {"now_s", 400.0},
                       {"records", 1234567},
                       {"decisions", 12},
                       {"last_round_s", 0.0004},
                       {"worst_round_s", 0.0123},
                       {"disk_full_since_s", nullptr},
                       {"jobs", {{"finished", 2}, {"running", 1}}}};
  EXPECT_EQ(daemon_page(status),
            "daemon     term 3, local executor\n"
            "cluster    2x2\n"
            "policy     backfill\n"
            "jobs       2 finished, 1 running\n"
            "decisions  12; the last took 0.4 ms, the worst 12.3 ms\n"
            "journal    1234567 records\n"
            "can        fraction, freeze\n"
            "next       `weft jobs` lists jobs, `weft nodes` nodes; `weft status JOB` shows one "
            "job\n");
  Json full = status;
  full["disk_full_since_s"] = 390.0;
  EXPECT_THAT(daemon_page(full), HasSubstr("disk       full for 10 s"));
}

Json node_of(const char* name, bool drained) {
  return {{"node", name},
          {"type", "cpu"},
          {"devices", 4},
          {"devices_used", 2.5},
          {"in_service", !drained},
          {"drained", drained},
          {"why", drained ? "drained by ada" : ""},
          {"connected", !drained},
          {"silent_s", 0.25},
          {"memory_bytes", 16.5e9}};
}

TEST(NodesPage, ALineForEachNodeAndASum) {
  Json first = node_of("node-0", false);
  first["reservations"] = {{{"number", 1}, {"for", ""}, {"from_s", 700.0}, {"to_s", 4300.0}}};
  const Json nodes = {{"now_s", 100.0}, {"nodes", {first, node_of("node-1", true)}}};
  Json running = job_of("running");
  running["nodes"] = {"node-0"};
  EXPECT_EQ(nodes_page(nodes, {{"jobs", {running}}}),
            "node    state       type  used  of  jobs   memory  last heard  why\n"
            "node-0  in service  cpu    2.5   4     1  16.5 GB   0.2 s ago\n"
            "node-1  drained     cpu    2.5   4     0  16.5 GB    no agent  drained by ada\n"
            "\n"
            "node-0: reservation 1 for nobody, in 10 min 0 s for 1 h 0 min\n"
            "cpu: 5 of 8 devices used, 1 of 2 nodes in service\n");
}

}  // namespace
}  // namespace weft

#include "model/readers/weft_yaml_reader.h"

#include <algorithm>

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

TEST(WeftYaml, ReadsEveryKey) {
  const Result<Trace> trace =
      read_trace(fixture("traces/weft.yaml"), cluster_of("slow:1x4,fast:1x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->format, "weft-yaml");
  ASSERT_EQ(trace->jobs.size(), 4U);
  EXPECT_EQ(trace->jobs[0].submission->name, "twin") << "in order of submission";
  const TraceJob& job = trace->jobs[3];
  const Submission& elastic = *job.submission;
  EXPECT_EQ(elastic.name, "elastic");
  EXPECT_EQ(elastic.priority, 3);
  EXPECT_EQ(elastic.weight, 2);
  EXPECT_EQ(elastic.deadline, 90000);
  EXPECT_EQ(elastic.declared_work, 36000);
  EXPECT_FALSE(elastic.preemptible || elastic.spot_ok);
  EXPECT_TRUE(elastic.elastic);
  EXPECT_EQ(elastic.model, 0);
  EXPECT_EQ(job.truth.work, 36000);
  EXPECT_EQ(job.truth.user_estimate, 500);
  ASSERT_EQ(job.truth.phases.size(), 2U);
  EXPECT_EQ(job.truth.phases[1].from_work, 18000);
  EXPECT_EQ(job.truth.phases[1].speed, 1.8);

  const TraceJob& twin = trace->jobs[0];
  EXPECT_EQ(twin.submission->menu, elastic.menu) << "shared through an alias";
  EXPECT_FALSE(twin.submission->elastic);
  EXPECT_EQ(twin.truth.work, 120) << "10 s at the rate of the first configuration";
}

TEST(WeftYaml, ReadsAWholeConfiguration) {
  const Result<Trace> trace =
      read_trace(fixture("traces/weft.yaml"), cluster_of("slow:1x4,fast:1x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const std::vector<Configuration>& menu = trace->jobs[3].submission->menu->configurations;
  ASSERT_EQ(menu.size(), 2U);
  Configuration want;
  want.type = 1;
  want.devices = 8;
  want.device_memory = 20 * kGiB;
  want.cpu_milli = 4000;
  want.host_memory = 32 * kGiB;
  want.storage_bytes_per_s = 0.5e9;
  want.network_guarantee = 1e9;
  want.network_limit = 1e10;
  want.pack = Level::kNode;
  want.pack_required = false;
  want.rate = 12;
  want.scattered_rate = 9;
  want.seconds_per_step = 0.5;
  want.work_per_step = 6;
  want.efficiency = 0.9;
  want.watts_cap = 250;
  want.traffic = {Traffic::Pattern::kAllReduce, 1000000, 0.25};
  want.parallelism = "dp8";
  want.codec = "none";
  want.sync = "bsp";
  want.collective = "ring";
  EXPECT_EQ(menu[0], want);
  EXPECT_EQ(menu[1].type, 0);
}

TEST(WeftYaml, ReadsServices) {
  const Result<Trace> trace =
      read_trace(fixture("traces/weft.yaml"), cluster_of("slow:1x4,fast:1x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const TraceJob& front = trace->jobs[1];
  EXPECT_EQ(front.submission->kind, WorkloadKind::kService);
  EXPECT_EQ(front.submission->min_replicas, 0U);
  EXPECT_EQ(front.submission->max_replicas, 3U);
  EXPECT_EQ(front.submission->latency_objective, 0.2);
  EXPECT_EQ(front.submission->requested().milli, 500U);
  EXPECT_EQ(front.truth.service_end, 1050);
  EXPECT_EQ(front.truth.load.size(), 2U);
  const TraceJob& back = trace->jobs[2];
  EXPECT_EQ(back.truth.load.size(), 3U) << "from the file";
  EXPECT_EQ(back.truth.service_end, kNever);
}

TEST(WeftYaml, ComplainsWithLineValueAndLimit) {
  const auto job = [](const std::string& more) {
    return "jobs:\n  - {name: a, submit_s: 0, " + more + "}\n";
  };
  const std::string fine = "duration_s: 1, menu: {devices: 1}";
  const BadText bads[] = {
      {"not YAML", "jobs: [", "y:1: "},
      {"a list", "- a\n", "y:1: the trace must be a map"},
      {"two documents", "jobs: []\n---\njobs: []\n", "y:2: a second YAML document begins here"},
      {"text after the end", "{jobs: []}\nmore: 3\n", "y:2: a second YAML document begins here"},
      // Documents without end to yaml-cpp before 0.9, which refuses the comma.
      {"a comma before anything else", ", a: 3\n", "y:1: "},
      {"no jobs", "jobs: []\n", "y: holds no jobs"},
      {"unknown key", "job: []\n",
       "y:1: the trace has the unknown key 'job'; did you mean 'jobs'?"},
      {"a key twice", job("priority: 1, priority: 2, " + fine), "y:2: job has 'priority' twice"},
      {"not a job", "jobs: [3]\n", "y:1: job must be a map"},
      {"no name", "jobs:\n  - {submit_s: 0, " + fine + "}\n", "y:2: job needs 'name'"},
      {"no menu", job("duration_s: 1"), "y:2: job needs 'menu'"},
      {"an empty menu", job("duration_s: 1, menu: []"),
       "job.menu needs at least one configuration"},
      {"no work", job("menu: {devices: 1}"), "job needs either 'work' or 'duration_s'"},
      {"negative", job("duration_s: -4, menu: {devices: 1}"),
       "y:2: job.duration_s is '-4'; it must be a number above 0"},
      {"not a number", job("duration_s: .nan, menu: {devices: 1}"), "job.duration_s is '.nan'"},
      {"a list for a number", job("duration_s: [1], menu: {devices: 1}"),
       "y:2: job.duration_s must be a single value"},
      {"no devices", job("duration_s: 1, menu: {devices: 0}"),
       "configuration.devices is '0'; it must be a whole number from 1"},
      {"unknown type", job("duration_s: 1, menu: {type: slow}"),
       "configuration.type is 'slow'; it must be one of the cluster's device types, fast"},
      {"unknown level", job("duration_s: 1, menu: {pack: shelf}"),
       "configuration.pack is 'shelf'; it must be node or leaf or rack"},
      {"rate zero", job("duration_s: 1, menu: {rate: 0}"), "configuration.rate is '0'"},
      {"unknown pattern", job("duration_s: 1, menu: {traffic: {pattern: gossip}}"),
       "traffic.pattern is 'gossip'"},
      {"takes too long", job("work: 1e12, menu: {rate: 1}"),
       "job takes 1e+12 s on its first configuration"},
      {"phases out of order", job("phases: [{from: 0.5, speed: 2}], " + fine),
       "phases must begin with 'from: 0'"},
      {"a name twice", "jobs:\n  - &a {name: a, submit_s: 0, " + fine + "}\n  - *a\n",
       "name 'a' is already used on line 2"},
      {"a service without load", job("kind: service, menu: {rate: 1}"),
       "needs either 'load' or 'load_file'"},
      {"load of a job", job("load: [], " + fine), "job has the unknown key 'load'"},
      {"load that falls back",
       job("kind: service, menu: {}, load: [{at_s: 1, requests_per_s: 1}, {at_s: 1, "
           "requests_per_s: 1}]"),
       "load.at_s must ascend"},
      {"not UTF-8", "jobs: \xFF\n", "y:1: byte 0xff is not UTF-8"},
      {"empty", "", "y: is empty"},
  };
  const Cluster cluster = cluster_of("fast:1x1");
  for (const BadText& bad : bads)
    expect_complaint(bad, parse_weft_yaml({"y", bad.text}, cluster, nullptr));
}

TEST(WeftYaml, AllMistakesComeTogether) {
  const std::string text =
      "jobs:\n"
      "  - {name: a, submit_s: -1, duration_s: 1, menu: {devices: 0}}\n"
      "  - {name: a, submit_s: 0, duration_s: x, menu: {devices: 1}}\n";
  const Result<Trace> trace = parse_weft_yaml({"y", text}, cluster_of("1x1"), nullptr);
  ASSERT_FALSE(trace.ok());
  const std::string what = trace.error().what;
  EXPECT_EQ(std::count(what.begin(), what.end(), '\n') + 1, 4) << what;
}

// Files that are small, or shallow, until something expands or descends into them.
TEST(WeftYaml, HostileFilesAreRefusedCheaply) {
  const Cluster cluster = cluster_of("1x1");
  std::string bomb = "x: &l0 [a, a, a, a, a, a, a, a, a]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string below = "*l" + std::to_string(i - 1);
    bomb += "y" + std::to_string(i) + ": &l" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) bomb += below + (j < 8 ? ", " : "]\n");
  }
  bomb += "jobs: *l8\n";
  std::string wide = "jobs:\n  - {name: a, submit_s: 0, duration_s: 1, menu: &m [";
  for (int i = 0; i < 9000; ++i) wide += "{}, ";
  wide += "{}]}\n";
  for (int i = 0; i < 5000; ++i) {
    wide += "  - {name: j" + std::to_string(i) + ", submit_s: 0, duration_s: 1, menu: *m}\n";
  }
  const BadText bads[] = {
      {"aliases of aliases", bomb, "y:"},
      {"a wide menu, aliased often", wide, "with its aliases the file holds more than"},
      {"deep brackets", std::string(200'000, '['), "200000 brackets inside each other"},
      {"deep dashes", "jobs:\n" + std::string(100'000, '-'), "y"},
      {"deep dashes with blanks",
       [] {
         std::string text;
         for (int i = 0; i < 50'000; ++i) text += "- ";
         return text;
       }(),
       "y"},
      {"deep maps",
       [] {
         std::string text;
         for (int i = 0; i < 3'000; ++i) text += std::string(static_cast<size_t>(i), ' ') + "a:\n";
         return text;
       }(),
       "y"},
      {"too many values", "jobs: " + std::string(3'000'000, ','), "the limit for YAML is 1000000"},
      {"too many bytes", std::string(17 << 20, 'x'), "the limit for YAML is 16777216"},
      {"a list that holds itself", "jobs: &a [*a]\n", "y:1: "},
  };
  for (const BadText& bad : bads)
    expect_complaint(bad, parse_weft_yaml({"y", bad.text}, cluster, nullptr));
}

}  // namespace
}  // namespace weft

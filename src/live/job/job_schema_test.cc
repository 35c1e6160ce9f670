#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "live/job/job_fields.h"
#include "live/job/job_file.h"
#include "live/job/schema_testing.h"
#include "live/job/submission.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

const std::string kSourceRoot = WEFT_FIXTURES "/../../";

std::string text_of(const std::string& path) {
  const Result<std::string> text = read_file(path, 1 << 20);
  EXPECT_TRUE(text.ok()) << text.error().text();
  return text.ok() ? *text : "";
}

const Json& schema() {
  static const Json json = Json::parse(text_of(kSourceRoot + "share/weft/job.schema.json"));
  return json;
}

// A visitor of visit_job() that only notes paths.
class Paths {
 public:
  std::set<std::string> found;

  template <typename... More>
  void text(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void integer(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void number(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void flag(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void choice(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void seconds(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void size(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void rate(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void cores(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void amount(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void signal(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void array(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void labels(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void envs(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void accelerators(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void deadline(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void dependencies(const char* key, More&&...) {
    add(key);
  }
  template <typename... More>
  void fixed_replicas(const char* key, More&&...) {
    add(key);
  }
  void topology(const char* key, const TopologyRule&) {
    group(key, [this] { add("required"), add("preferred"); });
  }
  template <typename Visit>
  void group(const char* key, Visit visit) {
    const std::string outer = std::exchange(place_, place_ + key + ".");
    visit();
    place_ = outer;
  }
  template <typename Visit>
  void group_or_integer(const char* key, const char*, Visit visit) {
    group(key, visit);
  }

 private:
  void add(const char* key) { found.insert(place_ + key); }
  std::string place_;
};

std::set<std::string> all_fields() {
  Paths paths;
  const JobSpec job;
  visit_job(paths, job);
  return paths.found;
}

// Leaves of the schema: properties that have none of their own.
void collect(const Json& object, const std::string& place, std::set<std::string>& out) {
  for (const auto& [key, rule] : object.at("properties").items()) {
    const Json* group = rule.contains("properties") ? &rule : nullptr;
    for (std::size_t i = 0; rule.contains("anyOf") && i < rule["anyOf"].size(); ++i) {
      if (rule["anyOf"][i].contains("properties")) group = &rule["anyOf"][i];
    }
    if (group != nullptr) {
      collect(*group, place + key + ".", out);
    } else {
      out.insert(place + key);
    }
  }
}

TEST(JobSchema, HasTheFieldsOfTheReaderAndNoOthers) {
  std::set<std::string> in_schema;
  collect(schema(), "", in_schema);
  EXPECT_EQ(in_schema, all_fields());
}

TEST(JobSchema, TheUsersPageNamesEveryField) {
  const std::string page = text_of(kSourceRoot + "docs/jobs.md");
  for (const std::string& path : all_fields()) {
    EXPECT_NE(page.find("`" + path + "`"), std::string::npos) << path;
  }
}

struct Verdict {
  const char* text;
  bool good;
};

const Verdict kVerdicts[] = {
    {"run: x", true},
    {"run: ''", false},
    {"name: a", false},
    {"{run: x, name: a/b}", false},
    {"{run: x, name: a.b-c_1, queue: research}", true},
    {"{run: x, kind: task}", true},
    {"{run: x, kind: batch}", false},
    {"{run: x, num_nodes: 2}", true},
    {"{run: x, num_nodes: 0}", false},
    {"{run: x, num_nodes: 1.5}", false},
    {"{run: x, num_node: 1}", false},
    {"{run: x, resources: {accelerators: H100:8}}", true},
    {"{run: x, resources: {accelerators: [H100:8, A100:8]}}", true},
    {"{run: x, resources: {accelerators: {H100:8, A100:8}}}", true},
    {"{run: x, resources: {accelerators: {H100: 8}}}", true},
    {"{run: x, resources: {accelerators: 65}}", false},
    {"{run: x, resources: {accelerators: H100:0.5}}", false},
    {"{run: x, resources: {accelerators: []}}", false},
    {"{run: x, resources: {cpus: 4+, memory: 32+}}", true},
    {"{run: x, resources: {cpus: 0.5, memory: 1.5}}", true},
    {"{run: x, resources: {cpus: -1}}", false},
    {"{run: x, resources: {cpus: many}}", false},
    {"{run: x, resources: {memory: 512MB}}", true},
    {"{run: x, resources: {memory: 512MiB+}}", true},
    {"{run: x, resources: {memory: 512 potatoes}}", false},
    {"{run: x, resources: {use_spot: True, notice_signal: SIGUSR1}}", true},
    {"{run: x, resources: {use_spot: 1}}", false},
    {"{run: x, checkpoint: {signal: usr1, grace: 90s, dir: /c}}", true},
    {"{run: x, checkpoint: {preempt: freeze}}", true},
    {"{run: x, checkpoint: {preempt: hibernate}}", false},
    {"{run: x, checkpoint: {signal: KILL}}", false},
    {"{run: x, checkpoint: {grace: soon}}", false},
    {"{run: x, time: 1h30m}", true},
    {"{run: x, time: 1h 30min}", true},
    {"{run: x, time: -1}", false},
    {"{run: x, deadline: 2h}", true},
    {"{run: x, deadline: '2026-11-16T18:00:00Z'}", true},
    {"{run: x, deadline: '2026-11-16T18:00:00'}", false},
    {"{run: x, share: {percent: 50, memory: 4}}", true},
    {"{run: x, share: {percent: 101}}", false},
    {"{run: x, share: {percent: 0}}", false},
    {"{run: x, bandwidth: {guarantee: 1Gb/s, limit: 10Gbps}}", true},
    {"{run: x, bandwidth: {limit: 100}}", false},
    {"{run: x, topology: {required: rack}}", true},
    {"{run: x, topology: {preferred: row}}", false},
    {"{run: x, topology: {required: rack, preferred: pod}}", false},
    {"{run: x, sync: bsp, codec: [none, int8]}", true},
    {"{run: x, codec: {a: b}}", false},
    {"{run: x, codec: auto, model: {parameters: 25e6, compute: 400ms, optimizer: adam}}", true},
    {"{run: x, codec: auto, model: {parameters: 25e6}}", false},
    {"{run: x, codec: auto, model: {parameters: 0, compute: 1s}}", false},
    {"{run: x, codec: auto, model: {parameters: 1, compute: 1s, optimizer: lion}}", false},
    {"{run: x, depends_on: a}", true},
    {"{run: x, depends_on: [a, {job: b, when: any}]}", true},
    {"{run: x, depends_on: [{when: any}]}", false},
    {"{run: x, depends_on: [{job: b, when: done}]}", false},
    {"{run: x, array: '0-99%8'}", true},
    {"{run: x, array: 7}", true},
    {"{run: x, array: 1-}", false},
    {"{run: x, on_controller_loss: stop}", true},
    {"{run: x, on_controller_loss: wait}", false},
    {"{run: x, retries: 5}", true},
    {"{run: x, retries: {max: 5, backoff: 1s, max_backoff: 1min}}", true},
    {"{run: x, retries: -1}", false},
    {"{run: x, hang: {factor: 5, at_least: 1min, action: restart}}", true},
    {"{run: x, hang: {action: kill}}", false},
    {"{run: x, service: {replicas: 2, port: 80, latency_objective: 50ms}}", true},
    {"{run: x, service: {port: 0}}", false},
    {"{run: x, service: {replica_policy: {min_replicas: 1, max_replicas: 2, "
     "target_qps_per_replica: 5}}}",
     true},
    {"{run: x, envs: {A: 1, B: two, C: ''}}", true},
    {"{run: x, envs: {A-B: 1}}", false},
    {"{run: x, envs: {A: [1]}}", false},
    {"{run: x, envs: {A: }}", false},
    {"{run: x, preemptible: false, priority: -3, workdir: /w, setup: make}", true},
    {"{run: x, min_workers: 1, max_workers: 4, workers_per_node: 1}", true},
    {"{run: x, min_workers: 1, max_workers: 4, resize: in_place}", true},
    {"{run: x, min_workers: 1, max_workers: 4, resize: restart}", true},
    {"{run: x, min_workers: 1, max_workers: 4, resize: true}", false},
    {"[run]", false},
};

TEST(JobSchema, AgreesWithTheReader) {
  const SchemaCheck check(schema());
  for (const Verdict& c : kVerdicts) {
    EXPECT_EQ(check.admits(json_of_yaml(YAML::Load(c.text))), c.good) << "schema: " << c.text;
    EXPECT_EQ(read_job_file(c.text, "a.yaml").ok(), c.good) << "reader: " << c.text;
  }
}

TEST(JobSchema, ExamplesAreReadAndFitACluster) {
  const Cluster cluster = *parse_cluster_shorthand("H100:4x8,A100:2x8");
  const SchemaCheck check(schema());
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSourceRoot + "examples/jobs")) {
    ++count;
    const std::string path = entry.path(), text = text_of(path);
    const Result<JobSpec> job = read_job_file(text, path);
    ASSERT_TRUE(job.ok()) << job.error().text();
    const Result<Submission> made = make_submission(*job, cluster, 0, {});
    EXPECT_TRUE(made.ok()) << path << ": " << made.error().text();
    if (path.ends_with(".yaml")) {
      EXPECT_TRUE(check.admits(json_of_yaml(YAML::Load(text)))) << path;
    }
  }
  EXPECT_GE(count, 8);
}

}  // namespace
}  // namespace weft::live

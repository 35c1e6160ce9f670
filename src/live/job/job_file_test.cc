#include "live/job/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/job/job_fields.h"

namespace weft::live {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

JobSpec read_good(const std::string& text) {
  const Result<JobSpec> job = read_job_file(text, "train.yaml");
  EXPECT_TRUE(job.ok()) << job.error().text() << "\n" << text;
  return job.ok() ? *job : JobSpec{};
}

std::string read_bad(const std::string& text) {
  const Result<JobSpec> job = read_job_file(text, "train.yaml");
  EXPECT_FALSE(job.ok()) << text;
  return job.ok() ? "" : job.error().text();
}

TEST(JobFile, TheShortestJobHasTheDocumentedDefaults) {
  const JobSpec job = read_good("run: python train.py\n");
  JobSpec want;
  want.name = "train";
  want.run = "python train.py";
  EXPECT_EQ(job, want);
  EXPECT_EQ(job.workers(), 1u);
  EXPECT_FALSE(job.elastic());
}

constexpr const char* kFull = R"(name: digits
kind: training
resources:
  accelerators: {H100:8, A100:8}
  cpus: 16+
  memory: 64
  use_spot: True
  notice_signal: usr2
num_nodes: 2
workers_per_node: 4
min_workers: 4
max_workers: 16
setup: |
  pip install -r requirements.txt
run: |
  python train.py
workdir: /home/me/digits
envs: {MODEL_SIZE: 13b, EPOCHS: 3, EMPTY: ""}
priority: -5
queue: research
deadline: 2026-11-16T18:00:00Z
time: 1h30m
preemptible: false
checkpoint: {signal: USR1, grace: 2min, dir: /ckpt, preempt: freeze}
share: {memory: 10, percent: 50}
bandwidth: {guarantee: 1Gb/s, limit: 10Gb/s}
topology: {required: rack}
sync: [bsp, "local:period=4"]
codec: int8
depends_on: [prepare, {job: fetch, when: any}]
array: 0-9:3,20%2
on_controller_loss: stop
retries: {max: 5, backoff: 1s, max_backoff: 1min}
hang: {factor: 20, at_least: 5min, action: restart}
)";

TEST(JobFile, ReadsEveryField) {
  const JobSpec job = read_good(kFull);
  EXPECT_EQ(job.name, "digits");
  EXPECT_THAT(job.resources.accelerators,
              ElementsAre(AcceleratorChoice{"H100", 8}, AcceleratorChoice{"A100", 8}));
  EXPECT_EQ(job.resources.cpus, 16);
  EXPECT_TRUE(job.resources.cpus_or_more);
  EXPECT_EQ(job.resources.memory, 64 * kGiB);
  EXPECT_FALSE(job.resources.memory_or_more);
  EXPECT_TRUE(job.resources.use_spot);
  EXPECT_EQ(job.resources.notice_signal, "SIGUSR2");
  EXPECT_EQ(job.workers(), 8u);
  EXPECT_EQ(job.min_workers, 4u);
  EXPECT_EQ(job.setup, "pip install -r requirements.txt\n");
  EXPECT_EQ(job.envs.at("EPOCHS"), "3");
  EXPECT_EQ(job.envs.at("EMPTY"), "");
  EXPECT_EQ(job.priority, -5);
  EXPECT_EQ(job.deadline, (JobDeadline{JobDeadline::Kind::kAt, 1794852000}));
  EXPECT_EQ(job.time, 5400);
  EXPECT_FALSE(job.preemptible);
  EXPECT_EQ(job.checkpoint, (CheckpointRule{"SIGUSR1", 120, "/ckpt", Preemption::kFreeze}));
  EXPECT_EQ(job.share, (DeviceShareRule{10 * kGiB, 50}));
  EXPECT_EQ(job.bandwidth, (BandwidthRule{1e9 / 8, 1e10 / 8}));
  EXPECT_EQ(job.topology, (TopologyRule{Level::kRack, true}));
  EXPECT_THAT(job.sync, ElementsAre("bsp", "local:period=4"));
  EXPECT_THAT(job.codec, ElementsAre("int8"));
  EXPECT_THAT(job.depends_on, ElementsAre(JobDependency{"prepare", DependencyCondition::kOk},
                                          JobDependency{"fetch", DependencyCondition::kAny}));
  EXPECT_EQ(job.array, (JobArray{{{0, 9, 3}, {20, 20, 1}}, 2}));
  EXPECT_EQ(job.on_controller_loss, ControllerLoss::kStop);
  EXPECT_EQ(job.retries, (RetryRule{5, 1, 60}));
  EXPECT_EQ(job.hang, (HangRule{20, 300, HangAction::kRestart}));
}

TEST(JobFile, ReadsServices) {
  const JobSpec job = read_good(
      "run: serve\nservice:\n  port: 8080\n  latency_objective: 200ms\n  replica_policy:\n"
      "    min_replicas: 0\n    max_replicas: 4\n    target_qps_per_replica: 2.5\n");
  EXPECT_EQ(job.kind, WorkloadKind::kService);
  EXPECT_EQ(job.service, (ServiceRule{0, 4, 2.5, 8080, 0.2}));
  EXPECT_EQ(read_good("run: serve\nservice: {replicas: 3}\n").service.min_replicas, 3u);
}

TEST(JobFile, AcceleratorsHaveManyForms) {
  const auto choices = [](const std::string& text) {
    return read_good("run: x\nresources: {accelerators: " + text + "}\n").resources.accelerators;
  };
  const AcceleratorChoice h100{"H100", 1}, h100s{"H100", 8}, a100s{"A100-80GB", 8};
  EXPECT_THAT(choices("H100"), ElementsAre(h100));
  EXPECT_THAT(choices("H100:8"), ElementsAre(h100s));
  EXPECT_THAT(choices("{H100: 8}"), ElementsAre(h100s));
  EXPECT_THAT(choices("4"), ElementsAre(AcceleratorChoice{"", 4}));
  EXPECT_THAT(choices("any:4"), ElementsAre(AcceleratorChoice{"", 4}));
  EXPECT_THAT(choices("[H100:8, A100-80GB:8]"), ElementsAre(h100s, a100s));
  EXPECT_THAT(choices("{H100:8, A100-80GB:8}"), ElementsAre(h100s, a100s));
}

struct BadCase {
  const char* what;
  const char* text;
  const char* want;
};

TEST(JobFile, RefusesWithLineValueAndLimit) {
  const std::vector<BadCase> cases = {
      {"no command", "name: a\n", "train.yaml:1: run is missing or empty"},
      {"unknown field", "run: x\nnum_node: 2\n",
       "train.yaml:2: job has the unknown key 'num_node'; did you mean 'num_nodes'?"},
      {"unknown field inside", "run: x\ncheckpoint:\n  grase: 3\n",
       "train.yaml:3: checkpoint has the unknown key 'grase'; did you mean 'grace'?"},
      {"out of range", "run: x\n\nnum_nodes: 0\n",
       "train.yaml:3: job.num_nodes is '0'; it must be a whole number from 1 to 100000"},
      {"a word for a number", "run: x\npriority: high\n", "job.priority is 'high'"},
      {"a list for a word", "run: x\nname: [a, b]\n", "job.name is not one value"},
      {"no map", "- a\n- b\n", "job must be a map"},
      {"a part of a device", "run: x\nresources: {accelerators: H100:0.5}\n", "'H100:0.5'"},
      {"no alternatives", "run: x\nresources: {accelerators: []}\n", "is empty"},
      {"unequal alternatives", "run: x\nresources: {accelerators: [a:1, b:2]}\n", "b:2 beside a:1"},
      {"any beside others", "run: x\nresources: {accelerators: [a, any]}\n", "must stand alone"},
      {"uneven workers", "run: x\nworkers_per_node: 3\nresources: {accelerators: 4}\n",
       "train.yaml:2: workers_per_node is 3"},
      {"elastic without a lower end", "run: x\nmax_workers: 4\n", "needs min_workers too"},
      {"asked beyond the range", "run: x\nnum_nodes: 9\nmin_workers: 1\nmax_workers: 4\n",
       "the 9 workers asked for"},
      {"a bare bandwidth", "run: x\nbandwidth: {limit: 100}\n",
       "a bandwidth above 0 with its unit"},
      {"guarantee above limit", "run: x\nbandwidth: {limit: 1Gb/s, guarantee: 2Gb/s}\n",
       "bandwidth.guarantee is 250 MB/s, above the limit, 125 MB/s"},
      {"a time without a zone", "run: x\ndeadline: 2026-11-16T18:00:00\n", "a time with its zone"},
      {"a wrong signal", "run: x\ncheckpoint: {signal: KILL}\n", "one of TERM INT"},
      {"notice without spot", "run: x\nresources: {notice_signal: USR1}\n", "without use_spot"},
      {"both topologies", "run: x\ntopology: {required: rack, preferred: node}\n", "one of them"},
      {"a codec's typo", "run: x\ncodec: [none, int88]\n", "train.yaml:2: codec.1 is 'int88'"},
      {"a mode's typo", "run: x\nsync: bspp\n", "train.yaml:2: sync is 'bspp'"},
      {"an array that repeats", "run: x\narray: 1-3,2\n", "has the index 2 twice"},
      {"a huge array", "run: x\narray: 0-20000\n", "more than 10000 members"},
      {"a dependency on nothing", "run: x\ndepends_on: [a, {when: ok}]\n",
       "depends_on needs 'job'"},
      {"an unknown condition", "run: x\ndepends_on: [{job: a, when: done}]\n",
       "ok or any or failed"},
      {"kind against service", "run: x\nkind: task\nservice: {replicas: 2}\n", "kind is task"},
      {"an elastic range of replicas without a rate",
       "run: x\nservice: {replica_policy: {max_replicas: 3}}\n", "needs target_qps_per_replica"},
      {"a service with a deadline", "run: x\nservice: {port: 1}\ndeadline: 2h\n",
       "train.yaml:3: deadline is not for services"},
      {"a frozen service", "run: x\nkind: service\ncheckpoint: {preempt: freeze}\n", "not for"},
      {"an unset variable", "run: x\nenvs: {TOKEN: }\n", "envs.TOKEN is not one value"},
      {"a bad variable name", "run: x\nenvs: {A-B: 1}\n", "'A-B', which is no name"},
      {"a NUL in a command", "run: \"a\\0b\"\n", "job.run holds"},
      {"a name like a uuid", "run: x\nname: 123e4567-e89b-12d3-a456-426614174000\n", "uuid"},
      {"a name with a slash", "run: x\nname: a/b\n", "name is 'a/b'"},
      {"a second document", "run: x\n---\nrun: y\n", "a second YAML document"},
      {"broken YAML", "run: [x\n", "train.yaml:"},
      {"too many ways to run",
       "run: x\nsync: [bsp, diloco, local]\ncodec: [none, fp16, bf16, int8, int4, topk]\n"
       "min_workers: 1\nmax_workers: 99\n",
       "16 sizes, 1 types and 18 pairs of sync and codec, which makes 288 configurations"},
      {"the same key twice", "run: x\nrun: y\n", "twice"},
  };
  for (const BadCase& c : cases) {
    EXPECT_THAT(read_bad(c.text), HasSubstr(c.want)) << c.what;
  }
}

TEST(JobFile, RefusesCodecsAndModesThatDoNotGoTogether) {
  const std::vector<BadCase> cases = {
      {"a codec that spoils a mode", "run: x\ncodec: int8\nsync: gossip\n",
       "codec is 'int8', with sync 'gossip': sync mode 'gossip' mixes parameters"},
      {"a codec beside the mode's own", "run: x\ncodec: int8\nsync: diloco:codec=int4\n",
       "names another"},
      {"one pair of several", "run: x\ncodec: [none, dgc]\nsync: [bsp, local]\n",
       "codec is 'dgc', with sync 'local'"},
      {"auto beside others", "run: x\ncodec: [none, auto]\n", "codec.1 is auto beside others"},
      {"auto's mode", "run: x\ncodec: auto\nsync: diloco\n", "goes with sync bsp or auto"},
      {"a mode alone", "run: x\nsync: auto\n", "sync is auto, but codec is not"},
      {"half a model", "run: x\ncodec: auto\nmodel: {parameters: 25e6}\n",
       "model must have parameters and compute"},
      {"a model for nothing", "run: x\nmodel: {parameters: 1, compute: 1s}\n",
       "model is for codec: auto"},
  };
  for (const BadCase& c : cases) {
    EXPECT_THAT(read_bad(c.text), HasSubstr(c.want)) << c.what;
  }
}

TEST(JobFile, RefusesToResizeInPlaceWhatCannotBe) {
  const std::vector<BadCase> cases = {
      {"resized in place, but not elastic", "run: x\nresize: in_place\n", "is for elastic jobs"},
      {"resized in place with large workers",
       "run: x\nresources: {accelerators: 2}\nworkers_per_node: 1\nmin_workers: 1\n"
       "max_workers: 4\nresize: in_place\n",
       "one for each device"},
      {"resized in place and frozen",
       "run: x\nmin_workers: 1\nmax_workers: 4\nresize: in_place\n"
       "checkpoint: {preempt: freeze}\n",
       "is freeze, which is not for jobs that are resized in place"},
  };
  for (const BadCase& c : cases) {
    EXPECT_THAT(read_bad(c.text), HasSubstr(c.want)) << c.what;
  }
}

TEST(JobFile, ToldAllAtOnceAndNothingOfDefaultsThatStandIn) {
  const std::string text = read_bad(
      "name: a b\nnum_nodes: none\nmin_workers: 1\nmax_workers: 4\nresources: {accelerators: 8}\n"
      "codec: int99\ntopology: {required: node}\n");
  EXPECT_THAT(text, AllOf(HasSubstr(":1: name is"), HasSubstr(":2: job.num_nodes is"),
                          HasSubstr(":6: codec is"), HasSubstr("run is missing")));
  // 8 workers asked for on one node would be above max_workers, but the nodes are not known.
  EXPECT_THAT(text, Not(HasSubstr("workers asked for")));
}

TEST(JobFile, BoundsWhatItReads) {
  EXPECT_THAT(read_bad("run: " + std::string(kMaxJobFileBytes, 'x')), HasSubstr("the limit"));
  EXPECT_THAT(read_bad("run: " + std::string(kMaxScriptBytes + 1, 'x')), HasSubstr("job.run has"));
  EXPECT_THAT(read_bad("run: " + std::string(101, '[')), HasSubstr("brackets"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 40; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) bomb += "*a" + std::to_string(i - 1) + ",";
    bomb += "x]\n";
  }
  EXPECT_THAT(read_bad(bomb + "run: x\nsync: *a39\n"), HasSubstr("sync must be a label"));
  EXPECT_THAT(read_bad("&a {run: x, share: *a}"), HasSubstr("share has the unknown key"));
}

TEST(JobFile, AnUnnamedJobIsCalledAfterItsFile) {
  EXPECT_EQ(job_name_of("jobs/train.yaml"), "train");
  EXPECT_EQ(job_name_of("train.v2.yaml"), "train.v2");
  EXPECT_EQ(job_name_of("-"), "job");
  EXPECT_EQ(job_name_of("my job.yaml"), "job");
  EXPECT_EQ(job_name_of(""), "job");
}

}  // namespace
}  // namespace weft::live

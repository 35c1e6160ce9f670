// The same scenario in both worlds: a daemon (HTTP, journal, controller) whose jobs and clock are
// simulated decides what `weft sim` decides, to the last line of the decision log, under every
// policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "control/decision_log.h"
#include "live/job/job_json.h"
#include "live/job/submission.h"
#include "sim/random_case_testing.h"
#include "tests/cross_testing.h"
#include "tests/daemon_side_testing.h"

namespace weft {
namespace {

using live::JobSpec;

struct Scenario {
  Cluster cluster;
  Trace trace;
  SimOptions options;
  std::map<std::string, nlohmann::json> specs;
};

// Speeds of elastic jobs that are measured, not assumed.
std::shared_ptr<const Goodput> measured_speeds(const Cluster& cluster) {
  static const std::string path = fixture("sia/workload-tiny.csv");
  const auto trace = read_trace(path, cluster, {"auto", fixture("sia")});
  if (!trace.ok()) ADD_FAILURE() << trace.error().text();
  CHECK(trace.ok());
  return trace->jobs.front().truth.goodput;
}

JobSpec random_spec(Random& random, std::size_t number) {
  JobSpec job;
  job.name = "job-" + std::to_string(number);
  job.run = "train";
  job.queue = "queue-" + std::to_string(random.below(3));
  job.priority = static_cast<std::int32_t>(random.below(3));
  job.preemptible = random.chance(0.9);
  job.resources.use_spot = random.chance(0.7);
  const char* const types[] = {"fast", "slow", ""};
  live::AcceleratorChoice& choice = job.resources.accelerators.front();
  choice.type = types[random.below(3)];
  choice.count = 1u << random.below(3);
  if (random.chance(0.2)) job.num_nodes = 2;
  if (random.chance(0.15)) {
    choice.count = job.num_nodes = 1;
    job.share.percent = 25.0 * static_cast<double>(1 + random.below(3));
  } else if (random.chance(0.4)) {
    job.min_workers = 1;
    job.max_workers = std::max<std::uint32_t>(job.workers(), 4);
  }
  job.time = std::ceil(random.log_normal(5, 1));
  if (random.chance(0.2)) job.time = 0;
  if (random.chance(0.3)) {
    job.deadline = {live::JobDeadline::Kind::kAfterSubmission, random.uniform(200, 4000)};
  }
  return job;
}

Scenario make_scenario(std::uint64_t seed, std::size_t jobs) {
  Random random(seed);
  Scenario made;
  made.cluster = testing_cluster("fast:3x4,slow:3x4");
  made.cluster.types[1].speed = 0.5;
  for (DeviceType& type : made.cluster.types) {
    type.idle_watts = 40;
    type.power = {{100, 0.5}, {200, 0.8}, {300, 1}};
  }
  made.cluster.nodes[1].node_class = made.cluster.nodes[4].node_class = NodeClass::kSpot;
  const auto speeds = measured_speeds(made.cluster);
  std::map<std::string, TenantId> tenants;
  Seconds at = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    if (random.chance(0.7)) at += std::floor(random.exponential(40));
    const JobSpec spec = random_spec(random, i);
    const TenantId tenant =
        tenants.emplace(spec.queue, static_cast<TenantId>(tenants.size())).first->second;
    auto submission = live::make_submission(spec, made.cluster, tenant, {at, 0});
    if (!submission.ok()) ADD_FAILURE() << submission.error().text();
    CHECK(submission.ok());
    Truth truth;
    truth.work = std::ceil(random.log_normal(5, 1));
    if (spec.time > 0) truth.user_estimate = spec.time;
    if (spec.elastic() && random.chance(0.5)) truth.goodput = speeds;
    made.specs[spec.name] = live::to_json(spec);
    made.trace.jobs.push_back(
        {std::make_shared<const Submission>(std::move(*submission)), std::move(truth)});
  }
  made.trace.tenants.resize(tenants.size());
  made.options = testing_options();
  made.options.seed = seed;
  made.options.channel = {0.2, 0.03, 0.05, 0.03};
  made.options.start_cost = 5;
  made.options.restart_cost = 10;
  made.options.checkpoint_interval = 60;
  made.options.faults = {{}, 20'000, 100'000, 300, 8'000, 200, 60, 0};
  return made;
}

// Also looks at what jobs became on their way through HTTP and the journal.
class SubmissionLog : public DecisionLog {
 public:
  explicit SubmissionLog(const Trace& trace) : trace_(trace) {}
  void event(const Event& e) override {
    DecisionLog::event(e);
    if (e.kind != EventKind::kSubmit) return;
    const Submission& meant = *trace_.jobs[submitted_++].submission;
    EXPECT_EQ(to_bytes(*e.submission), to_bytes(meant)) << meant.name;
  }

 private:
  const Trace& trace_;
  std::size_t submitted_ = 0;
};

std::string simulated_log(const Scenario& scenario, const std::string& policy,
                          const DaemonSetup* setup) {
  const std::unique_ptr<Policy> own = testing_policy(policy);
  SubmissionLog log(scenario.trace);
  SimRequest request;
  request.cluster = &scenario.cluster;
  request.trace = &scenario.trace;
  request.policy = own.get();
  request.options = scenario.options;
  request.journal = &log;
  if (setup != nullptr) {
    request.control_side = [&](Executor& executor, Journal& journal) {
      return std::make_unique<DaemonSide>(*setup, executor, journal);
    };
  }
  const auto result = simulate(request);
  if (!result.ok()) ADD_FAILURE() << result.error().text();
  return log.text();
}

// The first line that differs, for people.
std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream in_a(a), in_b(b);
  std::string line_a, line_b;
  for (int number = 1;; ++number) {
    const bool has_a = static_cast<bool>(std::getline(in_a, line_a));
    const bool has_b = static_cast<bool>(std::getline(in_b, line_b));
    if (!has_a && !has_b) return "none";
    if (has_a == has_b && line_a == line_b) continue;
    return "line " + std::to_string(number) + "\n  sim:    " + (has_a ? line_a : "(ended)") +
           "\n  daemon: " + (has_b ? line_b : "(ended)");
  }
}

class TwoWorldsUnder : public testing::TestWithParam<std::string> {};

// Returns what was decided, in both worlds.
std::string compare(const std::string& policy, std::uint64_t seed, std::size_t jobs) {
  SCOPED_TRACE(policy + ", seed " + std::to_string(seed));
  const Scenario scenario = make_scenario(seed, jobs);
  const ScratchStore store;
  const DaemonSetup setup{scenario.cluster, policy, store.path(), scenario.specs};
  const std::string sim = simulated_log(scenario, policy, nullptr);
  const std::string daemon = simulated_log(scenario, policy, &setup);
  EXPECT_TRUE(sim == daemon) << first_difference(sim, daemon);
  return sim;
}

TEST_P(TwoWorldsUnder, TheSameDecisions) {
  const bool soak = std::getenv("WEFT_SOAK") != nullptr;
  std::string decided;
  for (std::uint64_t seed = 1; seed <= (soak ? 20 : 3) && !HasFailure(); ++seed) {
    decided += compare(GetParam(), seed, soak ? 300 : 40);
  }
  // Scenarios in which nothing happens would show nothing.
  EXPECT_NE(decided.find("command stop"), std::string::npos);
  EXPECT_NE(decided.find("event node-down"), std::string::npos);
}

TEST(TwoWorldsScenario, AnotherPolicyIsNoticed) {
  const Scenario scenario = make_scenario(1, 40);
  const ScratchStore store;
  const DaemonSetup setup{scenario.cluster, "srtf", store.path(), scenario.specs};
  const std::string sim = simulated_log(scenario, "fifo", nullptr);
  EXPECT_NE(first_difference(sim, simulated_log(scenario, "fifo", &setup)), "none");
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, TwoWorldsUnder, testing::ValuesIn(policy_names()),
                         policy_test_name);

}  // namespace
}  // namespace weft

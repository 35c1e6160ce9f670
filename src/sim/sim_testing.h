// What tests share that run whole simulations: jobs as rows of numbers, and scenarios as tables.
//
// A scenario is a row of a table: a sentence, a cluster, a policy, at most half a dozen jobs, and
// the start times (and, where preemption matters, the ends) that somebody computed by hand:
//
//   {"a short job passes a long one", "1x1", "sjf", {{0, 1, 100}, {1, 1, 90}, {2, 1, 5}},
//    /*starts=*/{0, 105, 100}, /*ends=*/{}, /*differs_from=*/{"fifo", "srtf"}},
//
// expect_scenario(row) runs it, compares, and then runs the same jobs under every policy of
// `differs_from`: a scenario that a sibling passes too says nothing about the policy. Jobs need not
// be numbers only: JobRow::edit changes the submission, its menu and its truth.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/trace.h"
#include "policy/composition.h"
#include "sim/engine.h"

namespace weft {

struct JobRow {
  Seconds submit = 0;
  std::uint32_t devices = 1;
  Seconds duration = 1;  // on what it asks for, alone
  std::int32_t priority = 0;
  Seconds deadline = kNever;
  TenantId tenant = 0;
  Seconds estimate = -1;  // below 0: the duration
  std::function<void(Submission&, Menu&, Truth&)> edit = {};
};

inline Cluster testing_cluster(const std::string& shorthand) {
  Result<Cluster> cluster = parse_cluster_shorthand(shorthand);
  CHECK(cluster.ok());
  return std::move(cluster).value();
}

// Requires: rows ascend by submit. Jobs are named a, b, c, ...
inline Trace testing_trace(const std::vector<JobRow>& rows) {
  Trace trace;
  trace.path = "rows";
  trace.format = "rows";
  TenantId tenants = 1;
  for (const JobRow& row : rows) {
    auto submission = std::make_shared<Submission>();
    auto menu = std::make_shared<Menu>();
    Truth truth;
    menu->configurations.emplace_back().devices = row.devices;
    submission->name = std::string(1, static_cast<char>('a' + trace.jobs.size()));
    submission->submit = row.submit;
    submission->priority = row.priority;
    submission->deadline = row.deadline;
    submission->tenant = row.tenant;
    truth.work = row.duration;
    truth.user_estimate = row.estimate < 0 ? row.duration : row.estimate;
    if (row.edit) row.edit(*submission, *menu, truth);
    submission->menu = std::move(menu);
    CHECK(trace.jobs.empty() || trace.jobs.back().submission->submit <= row.submit);
    tenants = std::max<TenantId>(tenants, static_cast<TenantId>(row.tenant + 1));
    trace.jobs.push_back({std::move(submission), std::move(truth)});
  }
  for (TenantId t = 0; t < tenants; ++t) trace.tenants.push_back("tenant" + std::to_string(t));
  return trace;
}

// The policy of that name; a text with a colon is a YAML composition.
inline std::unique_ptr<Policy> testing_policy(const std::string& name) {
  Result<Composition> composition = name.find(':') == std::string::npos
                                        ? find_policy(name)
                                        : parse_composition(name, "composed.yaml");
  if (!composition.ok()) ADD_FAILURE() << composition.error().text();
  CHECK(composition.ok());
  auto policy = assemble(*composition);
  CHECK(policy.ok());
  return std::move(policy).value();
}

// For tests that every policy with a name must pass:
//   INSTANTIATE_TEST_SUITE_P(EveryPolicy, MyTest, testing::ValuesIn(policy_names()),
//                            policy_test_name);
inline std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Composition& composition : known_policies()) names.push_back(composition.name);
  return names;
}
inline std::string policy_test_name(const testing::TestParamInfo<std::string>& policy) {
  std::string name = policy.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

// Runs the trace. Beliefs are the rows' estimates unless the options say otherwise.
inline SimOptions testing_options() {
  SimOptions options;
  options.estimates.kind = EstimateMode::Kind::kUser;
  return options;
}

inline Result<RunResult> run_trace(const Cluster& cluster, const Trace& trace, const Policy& policy,
                                   const SimOptions& options, Journal* journal = nullptr) {
  SimRequest request;
  request.cluster = &cluster;
  request.trace = &trace;
  request.policy = &policy;
  request.options = options;
  request.journal = journal;
  return simulate(request);
}

inline RunResult testing_run(const std::string& cluster_text, const std::string& policy,
                             const std::vector<JobRow>& rows,
                             const SimOptions& options = testing_options()) {
  const Cluster cluster = testing_cluster(cluster_text);
  const Trace trace = testing_trace(rows);
  Result<RunResult> result = run_trace(cluster, trace, *testing_policy(policy), options);
  if (!result.ok()) ADD_FAILURE() << result.error().text();
  CHECK(result.ok());
  return std::move(result).value();
}

struct ScenarioRow {
  const char* sentence = "";
  std::string cluster, policy;
  std::vector<JobRow> jobs;
  std::vector<Seconds> starts;                 // first starts, in the order of `jobs`
  std::vector<Seconds> ends = {};              // empty: not compared
  std::vector<std::string> differs_from = {};  // names, or YAML compositions
  SimOptions options = testing_options();
};

struct Lives {
  std::vector<Seconds> starts, ends;
  bool operator==(const Lives&) const = default;
};

inline Lives lives_under(const ScenarioRow& row, const std::string& policy_name) {
  const Cluster cluster = testing_cluster(row.cluster);
  const Trace trace = testing_trace(row.jobs);
  const std::unique_ptr<Policy> policy = testing_policy(policy_name);
  Result<RunResult> result = run_trace(cluster, trace, *policy, row.options);
  Lives lives;
  if (!result.ok()) {
    ADD_FAILURE() << row.sentence << ": " << result.error().text();
    return lives;
  }
  for (const JobRecord& record : result->records) {
    lives.starts.push_back(record.first_start);
    lives.ends.push_back(record.end);
  }
  return lives;
}

inline void expect_scenario(const ScenarioRow& row) {
  SCOPED_TRACE(std::string(row.policy) + " on " + row.cluster + ": " + row.sentence);
  const Lives got = lives_under(row, row.policy);
  ASSERT_EQ(got.starts.size(), row.starts.size());
  for (size_t i = 0; i < row.starts.size(); ++i) {
    EXPECT_DOUBLE_EQ(got.starts[i], row.starts[i]) << "start of job " << char('a' + i);
  }
  for (size_t i = 0; i < row.ends.size(); ++i) {
    EXPECT_DOUBLE_EQ(got.ends[i], row.ends[i]) << "end of job " << char('a' + i);
  }
  for (const std::string& sibling : row.differs_from) {
    EXPECT_NE(got.starts, lives_under(row, sibling).starts)
        << sibling << " starts the jobs at the same times";
  }
}

}  // namespace weft

// The published figures, to the digit where the replay rules leave no freedom; the same rules on a
// small trace of this project against a naive reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/delimited.h"
#include "sim/sim_testing.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

RunResult replay(const std::string& path, const std::string& shape, const std::string& policy,
                 const std::string& place) {
  Result<Composition> composition = find_policy(policy);
  CHECK(composition.ok());
  if (!place.empty()) composition->place = {place, {}};
  auto assembled = assemble(*composition);
  CHECK(assembled.ok());
  const Cluster cluster = testing_cluster(shape);
  Result<Trace> trace = read_trace(path, cluster, {});
  CHECK(trace.ok());
  Result<RunResult> result = run_trace(cluster, *trace, **assembled, SimOptions{});
  CHECK(result.ok());
  return std::move(result).value();
}

struct Figure {
  const char* trace;
  const char* cluster;
  const char* policy;
  const char* place;  // empty: the policy's own
  double mean_jct_s;
  double tolerance_s;
};

// What the project carries: no clone can skip it.
TEST(Identity, EveryCarriedPhillyJobStartsAndEndsAsInTiresias) {
  const std::string path = example_file("traces/philly-1000.csv");
  Result<Trace> trace = read_trace(path, testing_cluster("16x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const RunResult result = replay(path, "16x8", "fifo", "first-fit");
  const std::string text = slurp(fixture("traces/philly_1000_fifo.csv"));
  DelimitedScanner scanner(text, {',', true, '#'});
  ASSERT_TRUE(scanner.next());
  std::size_t count = 0;
  for (; scanner.next(); ++count) {
    const auto fields = scanner.fields();
    ASSERT_LT(count, result.records.size());
    ASSERT_EQ(trace->jobs[count].submission->name, fields[0]);
    EXPECT_EQ(result.records[count].first_start, *parse_number(fields[1])) << "job " << fields[0];
    EXPECT_EQ(result.records[count].end, *parse_number(fields[2])) << "job " << fields[0];
  }
  EXPECT_EQ(count, 1000u);
  EXPECT_NEAR(result.jct_s.mean, 6213.998, 0.0005);
}

TEST(Identity, PublishedMeanCompletionTimes) {
  const std::vector<Figure> table = {
      {"philly-1000.csv", "16x8", "fifo", "first-fit", 6213.998, 0.01},
      {"philly-2000.csv", "32x8", "fifo", "first-fit", 7496.355, 0.01},
      {"philly-4000.csv", "32x8", "fifo", "first-fit", 18251.467, 0.01},
      {"philly-8000.csv", "64x8", "fifo", "first-fit", 10843.857, 0.01},
      {"philly-1000.csv", "16x8", "fifo", "best-fit", 6214.00, 0.01},
      {"philly-2000.csv", "32x8", "fifo", "best-fit", 7496.15, 0.01},
      {"philly-1000.csv", "16x8", "sjf", "best-fit", 5644.16, 0.01},
      {"philly-1000.csv", "16x8", "2d-las", "", 5628.32, 56.28},
      {"philly-2000.csv", "32x8", "2d-las", "", 6720.29, 67.20},
      {"philly-4000.csv", "32x8", "2d-las", "", 7304.42, 73.04},
  };
  SKIP_WITHOUT_FILE(shared_jobs("philly-1000.csv"));
  for (const Figure& row : table) {
    const RunResult result = replay(shared_jobs(row.trace), row.cluster, row.policy, row.place);
    EXPECT_NEAR(result.jct_s.mean, row.mean_jct_s, row.tolerance_s)
        << row.trace << " " << row.policy << " " << row.place;
  }
}

// A peer's per-job output: start and end by job.
std::map<std::string, std::pair<double, double>> peer_output(const std::string& path) {
  std::map<std::string, std::pair<double, double>> jobs;
  const std::string text = slurp(path);
  DelimitedScanner scanner(text, {',', true, '#'});
  CHECK(scanner.next());
  while (scanner.next()) {
    const auto fields = scanner.fields();
    jobs[std::string(fields[1])] = {*parse_number(fields[4]), *parse_number(fields[5])};
  }
  return jobs;
}

TEST(Identity, EveryJobOfThePeersFifoStartsAndEndsAlike) {
  struct Row {
    const char *trace, *cluster, *peer;
  };
  const std::vector<Row> table = {
      {"philly-1000.csv", "16x8", "tiresias/out-philly-1000-fifo.csv"},
      {"philly-2000.csv", "32x8", "tiresias/out-philly-2000-fifo.csv"},
      {"philly-4000.csv", "32x8", "tiresias/out-philly-4000-n32-fifo.csv"},
      {"philly-8000.csv", "64x8", "tiresias/out-philly-8000-n64-fifo.csv"},
  };
  SKIP_WITHOUT_FILE(shared_jobs(table[0].peer));
  for (const Row& row : table) {
    const auto peer = peer_output(shared_jobs(row.peer));
    const Cluster cluster = testing_cluster(row.cluster);
    Result<Trace> trace = read_trace(shared_jobs(row.trace), cluster, {});
    ASSERT_TRUE(trace.ok());
    const RunResult result = replay(shared_jobs(row.trace), row.cluster, "fifo", "first-fit");
    ASSERT_EQ(result.records.size(), peer.size());
    for (size_t i = 0; i < result.records.size(); ++i) {
      const std::string& name = trace->jobs[i].submission->name;
      const auto found = peer.find(name);
      ASSERT_NE(found, peer.end()) << name;
      ASSERT_EQ(result.records[i].first_start, found->second.first)
          << row.trace << ": the first job that differs is " << name;
      ASSERT_EQ(result.records[i].end, found->second.second) << row.trace << ", job " << name;
    }
  }
}

// The replay rules written down a second time, as plainly as possible: time moves second by second
// (every number of the fixture is whole), nothing is indexed, nothing is shared with the program.
struct PlainJob {
  long submit = 0, duration = 0;
  int devices = 0;
  long start = -1, end = -1;
  std::vector<int> taken;  // devices on each node
};

enum class Rule { kFirstFit, kBestFit };

bool place_plainly(const std::vector<int>& free, int per_node, Rule rule, PlainJob& job) {
  job.taken.assign(free.size(), 0);
  int whole = job.devices / per_node;
  for (size_t n = 0; n < free.size() && whole > 0; ++n) {
    if (free[n] == per_node) {
      job.taken[n] = per_node;
      --whole;
    }
  }
  if (whole > 0) return false;
  const int rest = job.devices % per_node;
  if (rest == 0) return true;
  int chosen = -1;
  for (int n = 0; n < static_cast<int>(free.size()); ++n) {
    const auto at = static_cast<size_t>(n);
    if (job.taken[at] > 0 || free[at] < rest) continue;
    const bool better =
        chosen < 0 || (rule == Rule::kBestFit && free[at] < free[static_cast<size_t>(chosen)]);
    if (better) chosen = n;
  }
  if (chosen < 0) return false;
  job.taken[static_cast<size_t>(chosen)] = rest;
  return true;
}

void replay_plainly(std::vector<PlainJob>& jobs, size_t nodes, int per_node, Rule rule,
                    bool shortest_first) {
  std::vector<int> free(nodes, per_node);
  size_t ended = 0;
  for (long now = 0; ended < jobs.size(); ++now) {
    for (PlainJob& job : jobs) {
      if (job.start < 0 || job.end >= 0 || job.start + job.duration != now) continue;
      job.end = now;
      ++ended;
      for (size_t n = 0; n < nodes; ++n) free[n] += job.taken[n];
    }
    while (true) {
      PlainJob* head = nullptr;
      for (PlainJob& job : jobs) {
        if (job.submit > now || job.start >= 0) continue;
        if (head == nullptr || (shortest_first && job.duration < head->duration)) head = &job;
      }
      if (head == nullptr || !place_plainly(free, per_node, rule, *head)) break;
      head->start = now;
      for (size_t n = 0; n < nodes; ++n) free[n] -= head->taken[n];
    }
  }
}

TEST(Identity, SixtyJobsAgainstANaiveReplay) {
  const std::string path = fixture("traces/philly_sixty.csv");
  Result<Trace> trace = read_trace(path, testing_cluster("3x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  ASSERT_EQ(trace->jobs.size(), 60u);
  struct Row {
    const char *policy, *place;
    Rule rule;
    bool shortest_first;
  };
  const std::vector<Row> table = {{"fifo", "first-fit", Rule::kFirstFit, false},
                                  {"fifo", "best-fit", Rule::kBestFit, false},
                                  {"sjf", "first-fit", Rule::kFirstFit, true},
                                  {"sjf", "best-fit", Rule::kBestFit, true}};
  std::vector<double> means;
  for (const Row& row : table) {
    SCOPED_TRACE(std::string(row.policy) + " " + row.place);
    std::vector<PlainJob> plain;
    for (const TraceJob& job : trace->jobs) {
      PlainJob& p = plain.emplace_back();
      p.submit = std::lround(job.submission->submit);
      p.duration = std::lround(job.truth.work);
      p.devices = static_cast<int>(job.submission->requested().devices);
    }
    replay_plainly(plain, 3, 8, row.rule, row.shortest_first);
    const RunResult result = replay(path, "3x8", row.policy, row.place);
    ASSERT_EQ(result.records.size(), plain.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      EXPECT_EQ(result.records[i].first_start, static_cast<double>(plain[i].start)) << i;
      EXPECT_EQ(result.records[i].end, static_cast<double>(plain[i].end)) << i;
    }
    means.push_back(result.jct_s.mean);
  }
  // The trace tells all four apart, so none of them can be right by accident.
  std::sort(means.begin(), means.end());
  EXPECT_EQ(std::unique(means.begin(), means.end()), means.end());
}

}  // namespace
}  // namespace weft

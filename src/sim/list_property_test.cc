// What is known of the list policies, on random traces.
#include <algorithm>

#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

struct RowShape {
  int jobs = 60;
  Seconds gap = 60;          // mean time between submissions; 0: all at once
  std::uint64_t widths = 1;  // 1, 2, 4, … devices
  double log_length = 5;
};

std::vector<JobRow> random_shape_rows(std::uint64_t seed, const RowShape& shape) {
  Random random(seed);
  std::vector<JobRow> rows;
  Seconds at = 0;
  for (int i = 0; i < shape.jobs; ++i) {
    if (shape.gap > 0) at += random.exponential(shape.gap);
    rows.push_back({at, 1u << random.below(shape.widths), random.log_normal(shape.log_length, 1)});
    rows.back().priority = static_cast<std::int32_t>(random.below(3));
  }
  return rows;
}

TEST(ListProperty, FifoStartsInOrderOfSubmission) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunResult fifo = testing_run("2x8", "fifo", random_shape_rows(seed, {.widths = 4}));
    for (size_t i = 1; i < fifo.records.size(); ++i) {
      EXPECT_LE(fifo.records[i - 1].first_start, fifo.records[i].first_start) << seed;
    }
  }
}

// When enough would be free for `devices` if nobody started after the jobs below `head` had.
Seconds promised(const std::vector<JobRow>& rows, const RunResult& run, size_t head, Seconds from,
                 std::uint32_t all) {
  std::vector<std::pair<Seconds, std::uint32_t>> ends;
  std::uint32_t free = all;
  for (size_t i = 0; i < rows.size(); ++i) {
    const JobRecord& record = run.records[i];
    const bool began = record.first_start < from || (record.first_start == from && i < head);
    if (i == head || !began || record.end <= from) continue;
    free -= rows[i].devices;
    ends.emplace_back(record.end, rows[i].devices);
  }
  std::sort(ends.begin(), ends.end());
  for (size_t i = 0; i < ends.size() && free < rows[head].devices; ++i) {
    free += ends[i].second;
    from = ends[i].first;
  }
  return from;
}

// EASY's promise (Lifka 1995): whoever is at the head of the queue begins no later than it would if
// nobody passed it. Exact estimates, one node, so that counting devices is enough.
TEST(ListProperty, BackfillNeverDelaysTheHead) {
  long passed = 0, sooner = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::vector<JobRow> rows = random_shape_rows(seed, {.gap = 40, .widths = 4});
    const RunResult easy = testing_run("1x8", "backfill", rows);
    Seconds ahead = 0;  // when the last of those before it began
    for (size_t i = 0; i < rows.size(); ++i) {
      const Seconds from = std::max(rows[i].submit, ahead);
      EXPECT_LE(easy.records[i].first_start, promised(rows, easy, i, from, 8) + 1e-6)
          << "seed " << seed << ", job " << i;
      passed += easy.records[i].first_start < ahead;
      ahead = std::max(ahead, easy.records[i].first_start);
    }
    sooner += easy.jct_s.mean < testing_run("1x8", "fifo", rows).jct_s.mean;
  }
  EXPECT_GT(passed, 100);
  EXPECT_GE(sooner, 38);
}

// Smith (1956): of all orders on one device, shortest first has the least mean completion time.
TEST(ListProperty, ShortestFirstIsBestOnOneDevice) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<JobRow> rows = random_shape_rows(seed, {.jobs = 30, .gap = 0});
    const double best = testing_run("1x1", "sjf", rows).jct_s.mean;
    std::vector<Seconds> lengths;
    for (const JobRow& row : rows) lengths.push_back(row.duration);
    std::sort(lengths.begin(), lengths.end());
    double end = 0, sum = 0;
    for (Seconds length : lengths) sum += end += length;
    EXPECT_NEAR(best, sum / static_cast<double>(rows.size()), 1e-6 * best) << seed;
  }
}

// Schrage (1968): least remaining time first is best whatever arrives when.
TEST(ListProperty, ShortestRemainingFirstIsBestOnOneDevice) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<JobRow> rows = random_shape_rows(seed, {.jobs = 40, .gap = 220});
    const double best = testing_run("1x1", "srtf", rows).jct_s.mean;
    for (const char* other : {"fifo", "sjf", "las", "2d-las", "themis", "shockwave", "allox"}) {
      EXPECT_LE(best, testing_run("1x1", other, rows).jct_s.mean * (1 + 1e-9))
          << other << ", " << seed;
    }
  }
}

// Tiresias' first queue: a job that ends before the first threshold, in seconds or device-seconds,
// is never stopped, for nobody is ahead of it.
TEST(ListProperty, ShortJobsAreNeverStoppedByAttainedService) {
  long short_jobs = 0, stopped = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<JobRow> rows =
        random_shape_rows(seed, {.gap = 900, .widths = 3, .log_length = 7.5});
    for (const char* policy : {"las", "2d-las"}) {
      const RunResult result = testing_run("1x8", policy, rows);
      const bool wide = std::string(policy) == "2d-las";
      stopped += result.restarts;
      for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].duration * (wide ? rows[i].devices : 1) >= 3250) continue;
        ++short_jobs;
        EXPECT_EQ(result.records[i].restarts, 0) << policy << ", seed " << seed << ", job " << i;
      }
    }
  }
  EXPECT_GT(short_jobs, 500);
  EXPECT_GT(stopped, 100);
}

// The most urgent jobs live as if they were alone, in order of submission.
TEST(ListProperty, UrgentJobsDoNotNoticeTheOthers) {
  long others_stopped = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<JobRow> rows = random_shape_rows(seed, {.gap = 40, .widths = 4});
    std::vector<JobRow> urgent;
    for (const JobRow& row : rows) {
      if (row.priority == 2) urgent.push_back(row);
    }
    const RunResult together = testing_run("1x8", "priority", rows);
    const RunResult alone = testing_run("1x8", "fifo", urgent);
    size_t next = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].priority < 2) {
        others_stopped += together.records[i].restarts;
        continue;
      }
      EXPECT_EQ(together.records[i].first_start, alone.records[next].first_start) << seed;
      EXPECT_EQ(together.records[i].end, alone.records[next].end) << seed;
      ++next;
    }
  }
  EXPECT_GT(others_stopped, 20);
}

}  // namespace
}  // namespace weft

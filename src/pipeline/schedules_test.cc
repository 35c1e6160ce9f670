// Every generator is proved over a range of requests, and timed against its closed form.
#include "pipeline/schedules.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "pipeline/costs.h"
#include "pipeline/solve.h"
#include "pipeline/transforms.h"
#include "pipeline/verify.h"

namespace weft::pipeline {
namespace {

double most(const std::vector<double>& list) { return *std::max_element(list.begin(), list.end()); }

Timeline solved(const char* name, const Request& request) {
  const auto schedule = generate(name, request);
  EXPECT_TRUE(schedule.ok()) << name;
  const auto timeline = solve(*schedule);
  EXPECT_TRUE(timeline.ok()) << name;
  return *timeline;
}

TEST(Schedules, EveryGeneratorIsProved) {
  for (const Generator& generator : generators()) {
    int served = 0;
    for (const int stages : {1, 2, 3, 4, 5, 8, 12}) {
      for (const int micro_batches : {1, 2, 3, 4, 8, 10, 16, 24}) {
        for (const int chunks : {1, 2, 4}) {
          const Request request{stages, micro_batches, chunks, chunks + 1, 0};
          if (!generator.refusal(request).empty()) continue;
          ++served;
          SCOPED_TRACE(fmt::format("{} {} {} {}", generator.name, stages, micro_batches, chunks));
          const Schedule schedule = generator.make(request);
          for (const Schedule& one :
               {schedule, with_listed_transfers(schedule), with_recomputation(schedule, 0.25)}) {
            const Status status = verify(one);
            ASSERT_TRUE(status.ok()) << status.error().text();
          }
        }
      }
    }
    EXPECT_GE(served, 20) << generator.name;
  }
}

// Listing the transfers changes nothing when nobody needs data out of the order it is made in.
TEST(Schedules, ListedTransfersTakeTheSameTime) {
  for (const char* name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "seq1f1b"}) {
    Schedule schedule = *generate(name, {.stages = 4, .micro_batches = 8});
    Costs costs = even_costs(schedule, {1, 1.25, 0.75});
    costs.transfer = 0.125;
    ASSERT_TRUE(apply_costs(schedule, costs).ok());
    const double implied = solve(schedule)->makespan;
    EXPECT_GT(implied, solved(name, {.stages = 4, .micro_batches = 8}).makespan) << name;
    EXPECT_NEAR(solve(with_listed_transfers(schedule))->makespan, implied, 1e-9) << name;
  }
}

// One row per formula of docs/pipelines.md: forward 1, backward-input 1, weight gradient 1.
struct Formula {
  const char* name;
  double (*idle)(double p, double m, double v);
  double (*peak)(double p, double m, double v);
};

void expect_formula(const Formula& row, int p, int m, int v) {
  SCOPED_TRACE(fmt::format("{} at p {}, m {}, v {}", row.name, p, m, v));
  const Timeline t = solved(row.name, {.stages = p, .micro_batches = m, .chunks = v, .slices = v});
  EXPECT_NEAR(most(t.idle), row.idle(p, m, v), 1e-9);
  EXPECT_NEAR(t.makespan, 3 * m + row.idle(p, m, v), 1e-9);
  EXPECT_NEAR(most(t.peak_activations), row.peak(p, m, v), 1e-9);
}

TEST(Schedules, IdleAndPeakAreTheClosedForms) {
  const auto flush = [](double p, double, double) { return 3 * (p - 1); };
  const auto sliced = [](double p, double, double v) { return 3 * (p - 1) / v; };
  const auto stages = [](double p, double, double) { return p; };
  const Formula rows[] = {
      {"gpipe", flush, [](double, double m, double) { return m; }},
      {"1f1b", flush, stages},
      {"pipedream", flush, stages},
      {"pipedream-2bw", flush, stages},
      {"bpipe", flush, [](double p, double, double) { return std::ceil((p + 2) / 2); }},
      {"interleaved", sliced, [](double p, double, double v) { return p + (p - 1) / v; }},
      {"zb-h1", [](double p, double, double) { return p - 1; }, stages},
      {"zb-h2", [](double p, double, double) { return p - 1; },
       [](double p, double, double) { return 2 * p - 1; }},
      // The last device cannot begin earlier, and has no idle unit after that.
      {"zb-v", [](double p, double, double) { return (p - 1) / 2; }, stages},
      {"dualpipe", [](double p, double, double) { return p - 2; },
       [](double p, double, double) { return p + 1; }},
      {"terapipe", sliced, [](double, double m, double) { return m; }},
      {"seq1f1b", sliced, [](double p, double, double v) { return (p + v - 1) / v; }},
  };
  for (const Formula& row : rows) {
    for (const auto& [p, m] : {std::pair{4, 16}, {6, 24}, {8, 32}, {16, 64}}) {
      for (const int v : {2, 4}) expect_formula(row, p, m, v);
    }
  }
}

// Units of as many micro-batches as devices. Chimera's paper: p - 2 holes for one unit, none
// between units if backward passes take as long as forward passes, some between them if they take
// longer.
TEST(Schedules, UnitsOfBidirectionalAndWavePipelinesFollowWithoutHoles) {
  const auto idle = [](const char* name, const Request& request, double backward) {
    Schedule schedule = *generate(name, request);
    EXPECT_TRUE(apply_costs(schedule, even_costs(schedule, {1, backward / 2, backward / 2})).ok());
    const Timeline t = *solve(schedule);
    EXPECT_NEAR(most(t.peak_activations), request.stages, 1e-9);
    return most(t.idle);
  };
  for (const int p : {4, 6, 8, 16}) {
    for (const int units : {1, 2, 3, 7}) {
      for (const double backward : {1.0, 2.0, 2.5}) {
        SCOPED_TRACE(fmt::format("p {}, {} units, backward {}", p, units, backward));
        const double holes = 1 + units * (backward - 1);
        Request request{.stages = p, .micro_batches = units * p};
        EXPECT_NEAR(idle("chimera", request, backward), (p - 2) * holes, 1e-9);
        for (const int v : {2, 4, 8}) {
          request.chunks = v;
          EXPECT_NEAR(idle("hanayo", request, backward), 2.0 * (p - 1) / v * holes, 1e-9) << v;
        }
      }
    }
  }
}

TEST(Schedules, FoldedBlocksTradeMemoryForIdleTime) {
  for (const int p : {4, 6, 8, 12, 16, 32}) {
    const Request request{.stages = p, .micro_batches = 4 * p};
    const double flush = 3.0 * (p - 1);
    const Timeline half = solved("v-half", request);
    EXPECT_LE(most(half.idle), flush / 2) << p;
    EXPECT_LE(most(half.peak_activations), p / 2.0 + 1.5) << p;
    const Timeline min = solved("v-min", request);
    EXPECT_LE(most(min.idle), flush * 2 / 3 + 1) << p;
    EXPECT_LE(most(min.peak_activations), p / 3.0 + 1.5) << p;
  }
}

TEST(Schedules, UnevenStagesAndSlowDevices) {
  Schedule schedule = *generate("1f1b", {.stages = 4, .micro_batches = 8});
  Costs costs{.chunks = {{1, 1, 1}, {1, 1, 1}, {2, 2, 2}, {1, 1, 1}}};
  ASSERT_TRUE(apply_costs(schedule, costs).ok());
  // The slow stage begins after two forwards, has at the end two backwards behind it, and waits
  // once: for the first backward pass of the last stage.
  EXPECT_NEAR(solve(schedule)->makespan, 2 * 1 + 8 * 6 + 2 * 2 + 1, 1e-9);
  EXPECT_NEAR(solve(schedule)->busy[2], 8 * 6, 1e-9);
  costs = {.chunks = {{1, 1, 1}}, .slowdown = {1, 1, 2, 1}};
  Schedule slow = schedule;
  ASSERT_TRUE(apply_costs(slow, costs).ok());
  EXPECT_NEAR(solve(slow)->makespan, solve(schedule)->makespan, 1e-9);
  EXPECT_FALSE(apply_costs(slow, {.chunks = {{1, 1, 1}, {1, 1, 1}}}).ok());
  EXPECT_FALSE(apply_costs(slow, {.chunks = {{-1, 1, 1}}}).ok());
}

TEST(Schedules, RecomputationTradesTimeForMemory) {
  const Schedule plain = *generate("1f1b", {.stages = 4, .micro_batches = 8});
  const Timeline t = *solve(with_recomputation(plain, 0.25));
  // A device recomputes while it waits for a gradient, so the idle time is that of 1f1b.
  EXPECT_NEAR(t.makespan, 8 * 4 + 3 * 3, 1e-9);
  // Three checkpoints, and the one that is computed.
  EXPECT_NEAR(t.peak_activations[0], 3 * 0.25 + 1, 1e-9);
}

TEST(Schedules, BadRequestsAreRefused) {
  struct Row {
    const char* name;
    Request request;
    const char* want;
  };
  for (const Row& row : {
           Row{"1f1b", {.stages = 0}, "stages is 0"},
           Row{"1f1b", {.micro_batches = -3}, "micro-batches is -3"},
           Row{"1f1b", {.stages = 16384, .micro_batches = 1 << 20}, "at most"},
           Row{"interleaved", {.stages = 4, .micro_batches = 6}, "multiple of the 4 stages"},
           Row{"interleaved", {.stages = 4, .micro_batches = 8, .chunks = 0}, "chunks per device"},
           Row{"chimera", {.stages = 3, .micro_batches = 6}, "must be even"},
           Row{"hanayo", {.stages = 4, .micro_batches = 4, .chunks = 3}, "must be even"},
           Row{"dualpipe", {.stages = 4, .micro_batches = 6}, "need at least 8"},
           Row{"seq1f1b", {.stages = 4, .micro_batches = 6, .slices = 0}, "slices is 0"},
           Row{"pipedream-2bw", {.stages = 4, .micro_batches = 9}, "multiple of the window 4"},
           Row{"pipedream-2bw", {.stages = 4, .micro_batches = 9, .window = 3}, "less than the 4"},
           Row{"zbh1", {}, "no schedule called 'zbh1'"},
       }) {
    const auto schedule = generate(row.name, row.request);
    ASSERT_FALSE(schedule.ok()) << row.want;
    EXPECT_NE(schedule.error().what.find(row.want), std::string::npos) << schedule.error().what;
  }
  EXPECT_EQ(generate("zbh1", {}).error().hint, "did you mean 'zb-h1'?");
}

}  // namespace
}  // namespace weft::pipeline

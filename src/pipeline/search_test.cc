#include "pipeline/search.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "pipeline/schedules.h"
#include "pipeline/solve.h"
#include "pipeline/verify.h"

namespace weft::pipeline {
namespace {

double makespan_of(const char* name, const SearchRequest& r) {
  Schedule s = *generate(name, {.stages = r.stages, .micro_batches = r.micro_batches});
  Costs costs = even_costs(s, r.share);
  costs.transfer = r.transfer;
  EXPECT_TRUE(apply_costs(s, costs).ok());
  return solve(s)->makespan;
}

double found(const SearchRequest& r) {
  const auto schedule = search_schedule(r);
  EXPECT_TRUE(schedule.ok());
  EXPECT_TRUE(verify(*schedule).ok()) << verify(*schedule).error().text();
  return solve(*schedule)->makespan;
}

TEST(Search, IsNoWorseThanTheHandcraftedSchedulesOfThatMemory) {
  const std::uint64_t seed = 7;
  Random random(seed);
  for (int i = 0; i < 12; ++i) {
    SearchRequest r{.stages = 2 + static_cast<int>(random.below(5)), .micro_batches = 12};
    r.share = {random.uniform(0.8, 1.2), random.uniform(0.8, 1.6), random.uniform(0.5, 1.2)};
    r.transfer = i % 2 == 0 ? 0 : random.uniform(0, 0.3);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", row " << i);
    r.limit = r.stages;
    const double one = found(r);
    EXPECT_LE(one, makespan_of("1f1b", r) * (1 + 1e-9));
    EXPECT_LE(one, makespan_of("zb-h1", r) * (1 + 1e-9));
    r.limit = 2 * r.stages;
    EXPECT_LE(found(r), one * (1 + 1e-9));
  }
}

TEST(Search, WithRoomItReachesTheBoundOfOneV) {
  // No schedule that begins at one end can let the last device begin earlier.
  EXPECT_NEAR(found({.stages = 8, .micro_batches = 24, .limit = 8}), 3 * 24 + 7 / 2.0, 1e-9);
}

TEST(Search, KeepsToALowLimit) {
  double last = 1e9;
  for (const double limit : {1, 2, 3, 4, 6}) {
    const double makespan = found({.stages = 6, .micro_batches = 12, .limit = limit});
    EXPECT_LE(makespan, last) << limit;
    last = makespan;
  }
  EXPECT_FALSE(search_schedule({.stages = 4, .micro_batches = 8, .limit = 0.5}).ok());
  EXPECT_FALSE(search_schedule({.stages = 0, .micro_batches = 8}).ok());
  EXPECT_FALSE(search_schedule({.stages = 2, .micro_batches = 8, .slowdown = {1}}).ok());
}

}  // namespace
}  // namespace weft::pipeline

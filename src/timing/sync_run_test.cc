#include "timing/sync_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sync/cost.h"

namespace weft {
namespace {

// 25 million values would take 6 s on these links; 1000 take nothing beside a step.
SyncTask task_of(const std::string& mode, std::uint32_t ranks = 4) {
  SyncTask task;
  task.mode = *sync::parse_mode(mode);
  task.ranks = ranks;
  task.parameters = 1000;
  task.step_s = 0.05;
  task.links.assign(ranks, {25e6, 100e-6});
  task.steps = 200;
  return task;
}

SyncTask slowed(SyncTask task, std::uint32_t rank = 3, double factor = 4) {
  task.slow.assign(task.ranks, 1);
  task.slow[rank] = factor;
  return task;
}

SyncOutcome outcome_of(const SyncTask& task) {
  auto outcome = run_sync(task);
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().text());
  return std::move(outcome).value();
}

SyncComparison compare(const SyncTask& task) {
  auto comparison = compare_sync(task);
  EXPECT_TRUE(comparison.ok()) << (comparison.ok() ? "" : comparison.error().text());
  return std::move(comparison).value();
}

TEST(SyncRun, WhatOneSlowRankCostsTheOthers) {
  struct Row {
    const char* sentence;
    const char* mode;
    double least_kept, most_kept;
    std::uint64_t widest;
  };
  const Row rows[] = {
      {"all wait for the slowest at every step", "bsp", 0.25, 0.27, 0},
      {"its steps are left out", "bsp:backup=1", 0.97, 1.001, 4},
      {"the bound is reached, and then the slowest sets the pace", "ssp:bound=3", 0.25, 0.28, 3},
      {"the bound is reached later", "ssp:bound=8", 0.25, 0.29, 8},
      {"without a bound nobody waits", "asp", 0.999, 1.001, 150},
      {"all wait for the slowest at every average", "local:period=8", 0.25, 0.26, 6},
      {"overlap hides messages, not slow ranks", "diloco:period=20,overlap=10", 0.25, 0.28, 25},
      {"a ring of neighbours waits for the slow one round by round", "gossip", 0.25, 0.27, 1},
      {"servers that collect let everybody go on", "fedbuff:buffer=2,period=4", 0.999, 1.001, 38},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.sentence);
    const SyncComparison found = compare(slowed(task_of(row.mode)));
    EXPECT_GE(found.kept(), row.least_kept);
    EXPECT_LE(found.kept(), row.most_kept);
    EXPECT_EQ(found.slowed.widest, row.widest);
    EXPECT_EQ(found.others, (std::vector<std::uint32_t>{0, 1, 2}));
  }
}

// bench/training/slow.py on live ranks (docs/sync.md): 6 s, 50 ms of sleep and 7.5 ms of the rest a
// step, 200 ms of sleep at one rank.
TEST(SyncRun, AgreesWithLiveRanks) {
  struct Row {
    const char* mode;
    double even, slowed;
    std::uint64_t widest;
  };
  const Row rows[] = {{"bsp", 15.4, 4.66, 0},
                      {"bsp:backup=1", 16.7, 17.0, 4},
                      {"ssp:bound=3", 16.5, 5.34, 3},
                      {"ssp:bound=8", 16.7, 6.12, 8},
                      {"asp", 17.4, 16.7, 74}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.mode);
    SyncTask task = slowed(task_of(row.mode), 1, 207.5 / 57.5);
    task.parameters = 4160;
    task.step_s = 0.0575;
    task.links.assign(4, {1.25e9, 50e-6});
    task.steps = 0;
    task.seconds = 6;
    const SyncComparison found = compare(task);
    EXPECT_NEAR(found.even_steps_per_s, row.even, 0.14 * row.even);
    EXPECT_NEAR(found.slowed_steps_per_s, row.slowed, 0.05 * row.slowed);
    EXPECT_NEAR(found.kept(), row.slowed / row.even, 0.05);
    EXPECT_NEAR(static_cast<double>(found.slowed.widest), static_cast<double>(row.widest),
                0.03 * static_cast<double>(row.widest));
  }
}

// Whatever the delays: ranks that run free are let go on up to the bound and no further.
TEST(SyncRun, ClocksDifferByTheBoundAndNeverByMore) {
  for (const std::uint32_t bound : {0U, 1U, 3U, 8U, 20U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      SyncTask task = slowed(task_of("ssp:bound=" + std::to_string(bound)), 1, 7);
      task.jitter = 0.3;
      task.seed = seed;
      EXPECT_EQ(outcome_of(task).widest, bound) << "seed " << seed;
    }
  }
}

TEST(SyncRun, BspTakesTheSlowestStepAndTheAverage) {
  SyncTask task = slowed(task_of("bsp"));
  task.parameters = 25e6;  // 100 MB: a ring moves 1.5 times as much out of each link
  task.steps = 10;
  const SyncOutcome found = outcome_of(task);
  const double step = 4 * 0.05 + 1.5 * 100e6 / 25e6;
  EXPECT_NEAR(found.time_s, 10 * step, 0.001 * step * 10);
  for (const SyncRank& rank : found.ranks) {
    EXPECT_EQ(rank.steps, 10U);
    EXPECT_NEAR(rank.bytes_per_step, 150e6, 1);
  }
  EXPECT_NEAR(found.ranks[3].waiting_s, 10 * (step - 0.2), 0.1);
  EXPECT_NEAR(found.ranks[0].waiting_s, 10 * (step - 0.05), 0.1);
}

// Everything that a link must carry it carries: a rank pushes 3 of 4 parts and answers 3 others.
TEST(SyncRun, PushesAndAnswersShareTheLinks) {
  SyncTask task = task_of("asp");
  task.parameters = 25e6;
  task.steps = 20;
  const SyncOutcome found = outcome_of(task);
  const double wire = 2 * 0.75 * 100e6 / 25e6;
  EXPECT_NEAR(found.time_s / 20, 0.05 + wire, 0.02 * wire);
  task.links[2].bytes_per_s /= 10;  // everybody needs the shard behind it
  const SyncOutcome narrow = outcome_of(task);
  EXPECT_GT(narrow.ranks[0].steps_per_s, 0);
  EXPECT_LT(narrow.ranks[0].steps_per_s, 0.5 * found.ranks[0].steps_per_s);
}

// Long runs send what the closed forms say, except where data decide.
TEST(SyncRun, SendsAsManyBytesAsTheCostModelSays) {
  for (const char* const text : {"bsp",
                                 "asp",
                                 "asp:period=4",
                                 "ssp:bound=3",
                                 "local:period=8",
                                 "local:period=5,overlap=2",
                                 "hierarchical:inner=4,outer=16,group=2",
                                 "diloco:period=50",
                                 "diloco:period=20,fragments=4,overlap=3",
                                 "diloco:period=20,eager",
                                 "gossip",
                                 "gossip:graph=exponential",
                                 "gossip:graph=one-peer,period=2",
                                 "slowmo",
                                 "fedavg",
                                 "fedprox",
                                 "fednova",
                                 "scaffold",
                                 "fedadam",
                                 "fedavg:participation=0.5",
                                 "fedbuff"}) {
    SCOPED_TRACE(text);
    SyncTask task = task_of(text, 8);
    task.parameters = 1e6;
    task.steps = 1200;
    const sync::SyncCost cost = sync::sync_cost(task.mode, 8, 8, 4e6);
    EXPECT_NEAR(outcome_of(task).bytes_per_step, cost.sent_bytes, 0.01 * cost.sent_bytes);
  }
}

TEST(SyncRun, LocalSendsOneOfItsPeriod) {
  const double every = outcome_of(task_of("bsp")).bytes_per_step;
  for (const int period : {2, 4, 8, 20}) {
    const auto found = outcome_of(task_of("local:period=" + std::to_string(period)));
    EXPECT_DOUBLE_EQ(found.bytes_per_step, every / period);
  }
}

// An average that is needed `overlap` steps later costs nothing until it takes longer than those.
TEST(SyncRun, OverlapHidesAverages) {
  SyncTask task = task_of("diloco:period=20");
  task.parameters = 25e5;  // 0.6 s an average
  const double blocking = outcome_of(task).time_s;
  EXPECT_NEAR(blocking, 200 * 0.05 + 10 * 0.6, 0.02);
  task.mode = *sync::parse_mode("diloco:period=20,overlap=13");
  EXPECT_NEAR(outcome_of(task).time_s, 200 * 0.05, 0.02);
  task.mode = *sync::parse_mode("diloco:period=20,overlap=4");
  EXPECT_NEAR(outcome_of(task).time_s, 200 * 0.05 + 9 * (0.6 - 4 * 0.05), 0.02);
  task.mode = *sync::parse_mode("diloco:period=20,eager");
  EXPECT_NEAR(outcome_of(task).time_s, 200 * 0.05, 0.02);
}

TEST(SyncRun, CodecsMakeBytesFewerAndTakeTime) {
  SyncTask task = task_of("local:period=4");
  task.parameters = 25e5;
  const SyncOutcome plain = outcome_of(task);
  task.bytes_per_value = 1;
  const SyncOutcome coded = outcome_of(task);
  EXPECT_DOUBLE_EQ(coded.bytes_per_step, plain.bytes_per_step / 4);
  EXPECT_NEAR(plain.time_s - coded.time_s, 50 * 0.45, 0.02);
  task.coding_s_per_value = 1e-8;
  EXPECT_NEAR(outcome_of(task).time_s - coded.time_s, 50 * 0.025, 1e-6);
}

TEST(SyncRun, TheSameSeedGivesTheSameRun) {
  for (const char* const text : {"bsp", "bsp:backup=2", "ssp", "asp", "local", "gossip"}) {
    SyncTask task = slowed(task_of(text, 6));
    task.jitter = 0.2;
    const SyncOutcome first = outcome_of(task), again = outcome_of(task);
    EXPECT_EQ(first.time_s, again.time_s) << text;
    EXPECT_EQ(first.events, again.events) << text;
    for (std::size_t r = 0; r < 6; ++r) {
      EXPECT_EQ(first.ranks[r].steps_per_s, again.ranks[r].steps_per_s) << text;
      EXPECT_EQ(first.ranks[r].waiting_s, again.ranks[r].waiting_s) << text;
    }
    task.seed = 2;
    EXPECT_NE(outcome_of(task).time_s, first.time_s) << text;
  }
}

// Events, not seconds: ten times as long steps are as many events.
TEST(SyncRun, EventsDoNotGrowWithTime) {
  SyncTask task = slowed(task_of("asp", 64));
  const SyncOutcome found = outcome_of(task);
  task.step_s *= 1000;
  EXPECT_EQ(outcome_of(task).events, found.events);
  EXPECT_LE(found.events, 64U * 200 * 3 + 64 * 3);
}

TEST(SyncRun, EndsAfterItsTimeToo) {
  SyncTask task = slowed(task_of("asp"));
  task.steps = 0;
  task.seconds = 6;
  const SyncOutcome found = outcome_of(task);
  EXPECT_EQ(found.time_s, 6);
  EXPECT_NEAR(static_cast<double>(found.ranks[0].steps), 6 / 0.0505, 2);
  EXPECT_NEAR(static_cast<double>(found.ranks[3].steps), 6 / 0.2005, 1);
}

TEST(SyncRun, AnAdaptivePeriodFollowsTheSyntheticLoss) {
  SyncTask task = task_of("local:period=16,adaptive");
  const double fixed = outcome_of(task_of("local:period=16")).bytes_per_step;
  task.loss_half_steps = 20;
  EXPECT_GT(outcome_of(task).bytes_per_step, 2 * fixed);
}

TEST(SyncRun, RefusesWhatATimingRunCannotKnow) {
  struct Row {
    const char* sentence;
    void (*change)(SyncTask&);
    const char* says;
  };
  const Row rows[] = {
      {"drift needs values", [](SyncTask& t) { t.mode = *sync::parse_mode("lazy"); },
       "has no values"},
      {"adaptive periods need losses",
       [](SyncTask& t) { t.mode = *sync::parse_mode("local:adaptive"); }, "has none"},
      {"neighbours take no codec",
       [](SyncTask& t) {
         t.mode = *sync::parse_mode("gossip");
         t.bytes_per_value = 1;
       },
       "takes no codec"},
      {"more backup workers than ranks",
       [](SyncTask& t) { t.mode = *sync::parse_mode("bsp:backup=4"); }, "at most 3"},
      {"no ranks", [](SyncTask& t) { t.ranks = 0; }, "ranks is 0"},
      {"too many", [](SyncTask& t) { t.ranks = 1 << 20; }, "to 2048"},
      {"a step of no time", [](SyncTask& t) { t.step_s = 0; }, "step in seconds is 0"},
      {"a number that is none", [](SyncTask& t) { t.jitter = std::nan(""); }, "jitter is nan"},
      {"a link without bandwidth", [](SyncTask& t) { t.links[2].bytes_per_s = 0; }, "bandwidth"},
      {"links of other ranks", [](SyncTask& t) { t.links.pop_back(); }, "3 links"},
      {"no end", [](SyncTask& t) { t.steps = 0; }, "steps or of seconds"},
      {"too long", [](SyncTask& t) { t.steps = 1'000'000'000; }, "at most"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.sentence);
    SyncTask task = task_of("bsp");
    row.change(task);
    const auto outcome = run_sync(task);
    ASSERT_FALSE(outcome.ok());
    EXPECT_NE(outcome.error().text().find(row.says), std::string::npos) << outcome.error().text();
  }
  SyncTask task = task_of("bsp");
  task.steps = 0;
  task.seconds = 0.01;
  const auto nothing = compare_sync(task);
  ASSERT_FALSE(nothing.ok());
  EXPECT_NE(nothing.error().text().find("no rank ended a step"), std::string::npos);
}

}  // namespace
}  // namespace weft

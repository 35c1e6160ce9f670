#include "model/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "model/generator_testing.h"

namespace weft {
namespace {

std::uint64_t hash_of(const Trace& trace) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&](double value) {
    hash = (hash ^ static_cast<std::uint64_t>(std::llround(value))) * 0x100000001b3ULL;
  };
  for (const TraceJob& job : trace.jobs) {
    const Submission& submission = *job.submission;
    mix(submission.submit * 1000);
    mix(std::isinf(submission.deadline) ? -1 : submission.deadline * 1000);
    for (double value :
         {job.truth.work, job.truth.user_estimate, devices_of(job) * kWhole,
          static_cast<double>(submission.tenant), static_cast<double>(submission.priority)}) {
      mix(value);
    }
  }
  return hash;
}

TEST(Generator, TheSameSeedGivesTheSameTraceForEver) {
  const std::string text = "gen:kalos,jobs=10000,deadlines=0.3,priorities=0.7/0.3";
  const Trace trace = trace_of(text + ",seed=7");
  EXPECT_EQ(hash_of(trace), hash_of(trace_of(text + ",seed=7")));
  EXPECT_NE(hash_of(trace), hash_of(trace_of(text + ",seed=8")));
  EXPECT_EQ(hash_of(trace), 863131880132656293ULL)
      << "traces that users named by their seed have changed";
}

TEST(Generator, EachWishHasItsOwnRandomNumbers) {
  const Trace plain = trace_of("gen:seren,jobs=2000");
  for (const char* wish : {"deadlines=0.5", "priorities=0.5/0.5", "padding=3", "tenants=7"}) {
    const Trace other = trace_of(std::string("gen:seren,jobs=2000,") + wish);
    for (std::size_t i = 0; i < plain.jobs.size(); ++i) {
      ASSERT_EQ(plain.jobs[i].truth.work, other.jobs[i].truth.work) << wish;
      ASSERT_EQ(plain.jobs[i].submission->submit, other.jobs[i].submission->submit) << wish;
      ASSERT_EQ(devices_of(plain.jobs[i]), devices_of(other.jobs[i])) << wish;
    }
  }
}

TEST(Generator, OffersTheLoadAskedFor) {
  struct Row {
    const char *spec, *cluster;
    double load;
  };
  for (const Row& row : {
           Row{"gen:philly,jobs=20000,load=0.9", "16x8", 0.9},
           Row{"gen:helios,jobs=20000,load=0.5,burst=0", "256x8", 0.5},
           Row{"gen:kalos,jobs=20000,load=1.2", "302x8", 1.2},
           Row{"gen:pai,jobs=20000,load=0.1,batch=5", "8x2", 0.1},
           Row{"gen:custom,jobs=5000,load=2,sizes=1:1/4:1,median=60", "v100:2x4,p100:4x4", 2},
       }) {
    SCOPED_TRACE(row.spec);
    GeneratorReport report;
    const Trace trace = trace_of(row.spec, row.cluster, &report);
    double device_seconds = 0;
    for (const TraceJob& job : trace.jobs) device_seconds += job.truth.work * devices_of(job);
    const double devices = cluster_of(row.cluster).device_count();
    const Seconds last = trace.jobs.back().submission->submit;
    EXPECT_NEAR(device_seconds / (devices * last) / row.load, 1, 0.03);
    EXPECT_NEAR(report.offered_load, row.load, 1e-9 * row.load);
    EXPECT_LE(last, report.span);
  }
}

TEST(Generator, LoadCountsDevicesByTheirSpeed) {
  Cluster cluster = cluster_of("v100:2x4,k80:2x4");
  cluster.types[1].speed = 0.5;
  GeneratorReport report;
  ASSERT_TRUE(
      generate(spec_of("gen:custom,median=100,sigma=0,load=0.5"), cluster, 1, &report).ok());
  EXPECT_NEAR(report.span, 10'000 * 100.0 / (0.5 * 12), 1e-6);
}

TEST(Generator, RateSetsTheSpan) {
  GeneratorReport report;
  const Trace trace = trace_of("gen:philly,jobs=3000,rate_per_hour=30", "64x8", &report);
  EXPECT_DOUBLE_EQ(report.span, 100 * kHour);
  EXPECT_GT(trace.jobs.back().submission->submit, 95 * kHour);
}

std::vector<double> arrivals_by_hour(const std::string& spec) {
  std::vector<double> counts(24 * 7);
  const Trace trace = trace_of(spec);
  for (const TraceJob& job : trace.jobs) {
    const auto hour = static_cast<std::size_t>(job.submission->submit / kHour);
    counts[hour % counts.size()] +=
        static_cast<double>(counts.size()) / static_cast<double>(trace.jobs.size());
  }
  return counts;
}

TEST(Generator, ArrivalsFollowTheWeekAsFarAsBurstSays) {
  // 16.8 million seconds are 28 weeks, so that every hour of the week has its share.
  const std::string text = "gen:helios,jobs=336000,rate_per_hour=71.428571428571,burst=";
  const WeekProfile week = spec_of("gen:helios").arrivals.week;
  for (double burst : {0.0, 0.5, 1.0}) {
    SCOPED_TRACE(burst);
    const std::vector<double> got = arrivals_by_hour(text + std::to_string(burst));
    double mean = 0;
    for (std::size_t h = 0; h < 168; ++h) mean += week.days[h / 24] * week.hours[h % 24] / 168;
    for (std::size_t h = 0; h < 168; ++h) {
      const double rate = week.days[h / 24] * week.hours[h % 24] / mean;
      const double want = 1 + burst * (rate - 1);
      EXPECT_NEAR(got[h], want, 5 * std::sqrt(want / 2000)) << "hour " << h;
    }
  }
}

TEST(Generator, GapsOfAPoissonProcessAreExponential) {
  const Trace trace = trace_of("gen:custom,jobs=100000,rate_per_hour=360");
  double sum = 0, squares = 0, before = 0;
  for (const TraceJob& job : trace.jobs) {
    const double gap = job.submission->submit - before;
    sum += gap;
    squares += gap * gap;
    before = job.submission->submit;
  }
  const double mean = sum / 1e5;
  EXPECT_NEAR(mean, 10, 0.01);
  EXPECT_NEAR(std::sqrt(squares / 1e5 - mean * mean) / mean, 1, 0.02);
}

TEST(Generator, BatchesHaveTheMeanSizeAndOneTenant) {
  const Trace trace = trace_of("gen:custom,jobs=100000,rate_per_hour=10,batch=8,tenants=50");
  double batches = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const Submission& job = *trace.jobs[i].submission;
    const bool joins = i > 0 && job.submit == trace.jobs[i - 1].submission->submit;
    if (joins) {
      ASSERT_EQ(job.tenant, trace.jobs[i - 1].submission->tenant);
    }
    batches += joins ? 0 : 1;
  }
  EXPECT_NEAR(1e5 / batches, 8, 0.3);
}

TEST(Generator, TenantsHaveZipfShares) {
  const Trace trace = trace_of("gen:philly,jobs=100000");
  std::map<std::string, double> share;
  for (const TraceJob& job : trace.jobs) share[trace.tenants[job.submission->tenant]] += 1e-5;
  // The largest groups of the released jobs have 0.501, 0.196, 0.121 and 0.090.
  EXPECT_NEAR(share["t1"], 0.501, 0.03);
  EXPECT_NEAR(share["t2"], 0.196, 0.03);
  EXPECT_NEAR(share["t1"] / share["t4"], std::pow(4, 1.6), 0.4);
}

TEST(Generator, JobsLargerThanTheClusterAreCappedOrRefused) {
  struct Row {
    const char *what, *cluster;
    std::uint32_t largest;
  };
  for (const Row& row : {Row{"one type", "4x8", 32}, Row{"the larger type", "a:2x4,b:4x4", 16},
                         Row{"no power of two", "3x5", 15}}) {
    SCOPED_TRACE(row.what);
    GeneratorReport report;
    const Trace trace = trace_of("gen:kalos,jobs=20000", row.cluster, &report);
    std::uint32_t largest = 0;
    for (const TraceJob& job : trace.jobs) {
      largest = std::max(largest, job.submission->requested().devices);
    }
    EXPECT_EQ(largest, row.largest);
    EXPECT_GT(report.capped, 500u);
    const Result<Trace> refused =
        generate(spec_of("gen:kalos,oversize=refuse"), cluster_of(row.cluster), 1);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().what.find("up to 1024 devices"), std::string::npos);
  }
  GeneratorReport report;
  trace_of("gen:kalos,oversize=refuse", "128x8", &report);
  EXPECT_EQ(report.capped, 0u);
}

TEST(Generator, UsersAskForCustomaryLimits) {
  struct Row {
    Seconds expected, limit;
  };
  for (const Row& row : {Row{1, 900}, Row{900, 900}, Row{901, 1800}, Row{3600, kHour},
                         Row{5 * kHour, 8 * kHour}, Row{25 * kHour, 48 * kHour},
                         Row{100 * kHour, 168 * kHour}, Row{721 * kHour, 1440 * kHour}}) {
    EXPECT_DOUBLE_EQ(customary_limit(row.expected), row.limit) << row.expected;
  }
}

TEST(Generator, DeadlinesAndPrioritiesHaveTheirShares) {
  const Trace trace =
      trace_of("gen:custom,jobs=50000,median=100,sigma=0,deadlines=0.4,slack=2-3,priorities=6/3/1");
  std::map<int, double> priorities;
  double urgent = 0, slack = 0;
  for (const TraceJob& job : trace.jobs) {
    priorities[job.submission->priority] += 1.0 / 50000;
    if (job.submission->deadline == kNever) continue;
    const double factor = (job.submission->deadline - job.submission->submit) / 100;
    ASSERT_GE(factor, 2 - 1e-4);
    ASSERT_LE(factor, 3 + 1e-4);
    urgent += 1;
    slack += factor;
  }
  EXPECT_NEAR(urgent / 50000, 0.4, 0.01);
  EXPECT_NEAR(slack / urgent, 2.5, 0.01);
  EXPECT_NEAR(priorities[0], 0.6, 0.01);
  EXPECT_NEAR(priorities[2], 0.1, 0.01);
}

GeneratorSpec random_spec(Random& random) {
  GeneratorSpec spec;
  spec.text = "gen:random";
  spec.jobs = 1 + random.below(300);
  if (random.chance(0.5)) spec.arrivals.load = random.uniform(0.01, 3);
  if (!spec.arrivals.load) spec.arrivals.rate_per_hour = std::exp(random.uniform(-3, 15));
  spec.arrivals.burst = random.chance(0.3) ? 0 : random.uniform();
  spec.arrivals.batch = random.chance(0.5) ? 1 : random.uniform(1, 50);
  for (double& hour : spec.arrivals.week.hours) hour = random.chance(0.2) ? 0 : random.uniform();
  spec.arrivals.week.hours[5] = 1;
  spec.longest = std::exp(random.uniform(0, 20));
  for (std::uint64_t i = 0; i <= random.below(4); ++i) {
    JobClass of{"c", random.uniform(0.1, 2), {},
                {},  random.uniform(0, 0.5), random.uniform(0, 0.5)};
    for (std::uint64_t k = 0; k <= random.below(5); ++k) {
      const bool part = random.chance(0.2);
      of.sizes.push_back({part ? 1 : 1 + static_cast<std::uint32_t>(random.below(300)),
                          random.uniform(0.1, 1),
                          part ? 1 + static_cast<std::uint32_t>(random.below(999)) : kWhole});
    }
    for (std::uint64_t k = 0; k <= random.below(3); ++k) {
      of.durations.push_back(
          {random.uniform(0.1, 1), std::exp(random.uniform(0, 12)), random.uniform(0, 4)});
    }
    spec.classes.push_back(of);
  }
  spec.tenants = 1 + static_cast<std::uint32_t>(random.below(40));
  spec.skew = random.uniform(0, 3);
  spec.deadlines = random.uniform();
  return spec;
}

void expect_promises(const Trace& trace, const GeneratorSpec& spec, const Cluster& cluster) {
  std::set<std::string> names;
  std::map<std::pair<std::uint32_t, std::uint32_t>, const Menu*> menus;
  std::uint32_t seen_tenants = 0;
  Seconds before = 0;
  ASSERT_EQ(trace.jobs.size(), spec.jobs);
  for (const TraceJob& traced : trace.jobs) {
    const Submission& job = *traced.submission;
    ASSERT_TRUE(names.insert(job.name).second);
    ASSERT_GE(job.submit, before);
    before = job.submit;
    ASSERT_LE(job.submit, kMaxDuration);
    ASSERT_GT(job.deadline, job.submit);
    ASSERT_GE(traced.truth.work, 1);
    ASSERT_LE(traced.truth.work, spec.longest);
    ASSERT_GE(traced.truth.user_estimate, traced.truth.work);
    ASSERT_EQ(customary_limit(traced.truth.user_estimate), traced.truth.user_estimate);
    ASSERT_EQ(job.menu->configurations.size(), 1u);
    const Configuration& asked = job.requested();
    const Menu*& menu = menus[{asked.devices, asked.milli}];
    ASSERT_TRUE(menu == nullptr || menu == job.menu.get()) << "one menu for each size";
    menu = job.menu.get();
    ASSERT_LE(asked.devices, std::max(cluster.device_count(0), cluster.device_count(1)));
    ASSERT_LE(job.tenant, seen_tenants) << "tenants are numbered in order of appearance";
    seen_tenants = std::max(seen_tenants, job.tenant + 1u);
  }
  EXPECT_EQ(trace.tenants.size(), seen_tenants);
}

TEST(Generator, RandomSpecsKeepThePromisesOfATrace) {
  const Cluster cluster = cluster_of("a:3x8,b:40x4");
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const GeneratorSpec spec = random_spec(random);
    const Result<Trace> trace = generate(spec, cluster, seed);
    if (!trace.ok()) {
      EXPECT_NE(trace.error().what.find("would arrive over"), std::string::npos)
          << trace.error().text();
      continue;
    }
    expect_promises(*trace, spec, cluster);
  }
}

TEST(Generator, RefusesASpanBeyondTheTimeLimit) {
  const Result<Trace> trace =
      generate(spec_of("gen:custom,rate_per_hour=0.000001"), cluster_of("1x8"), 1);
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().what.find("the limit is 1e+10 s"), std::string::npos);
}

}  // namespace
}  // namespace weft

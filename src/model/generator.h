// Synthetic workloads for scales that no trace reaches: an arrival process, a mixture of classes of
// jobs, and presets fitted to the published statistics of real clusters. docs/generator.md lists
// what each constant reproduces and where the figure was read.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/trace.h"

namespace weft {

// Shares below need not add up to 1: each is taken relative to the sum of its list.

// Below kWhole, `milli` asks for that part of one device.
struct SizeChoice {
  std::uint32_t devices = 1;
  double share = 1;
  std::uint32_t milli = kWhole;
};

// A log-normal: the logarithm of the duration has mean log(median) and deviation `sigma`.
struct DurationPart {
  double share = 1;
  Seconds median = 600;
  double sigma = 1.5;
};

// Jobs alike in purpose. Size, planned duration and outcome are independent inside a class; that
// large jobs run longer and are cancelled more often comes from there being several classes.
struct JobClass {
  std::string name;
  double share = 1;
  std::vector<SizeChoice> sizes;
  std::vector<DurationPart> durations;
  // Parts of the class that do not reach the end of the planned duration. Such a job stops at a
  // point drawn evenly from that duration.
  double failed = 0;
  double cancelled = 0;
};

// Weights of the hours of a day and of the days of a week, Monday first.
struct WeekProfile {
  std::array<double, 24> hours{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                               1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::array<double, 7> days{1, 1, 1, 1, 1, 1, 1};
};

struct Arrivals {
  // Exactly one is given. `load` is the device-time that arrives in a second, divided by the
  // devices of the cluster, each counted by its speed.
  std::optional<double> load;
  std::optional<double> rate_per_hour;
  // 0: a Poisson process. 1: a Poisson process whose rate follows `week`. Between: in proportion.
  double burst = 0;
  // Mean number of jobs that one tenant submits at once; geometric. 1: no batches.
  double batch = 1;
  WeekProfile week;
};

// What becomes of a job that the cluster cannot hold.
enum class Oversize : std::uint8_t { kCap, kRefuse };

struct GeneratorSpec {
  std::string text;  // how the user named it, for reports
  std::uint64_t jobs = 10'000;
  std::uint64_t seed = 1;
  Arrivals arrivals;
  std::vector<JobClass> classes;
  Seconds longest = kMaxDuration;  // no planned duration is above it
  // Tenant k of the list is drawn with probability proportional to k^-skew (Zipf).
  std::uint32_t tenants = 1;
  double skew = 0;
  // Share of jobs of priority 0, 1, 2, ...; empty: all have priority 0.
  std::vector<double> priorities;
  // Part of the jobs with a deadline, which is the submission plus the planned duration times a
  // slack drawn evenly from [slack_low, slack_high].
  double deadlines = 0;
  double slack_low = 1.5;
  double slack_high = 4;
  // Users ask for the planned duration times a factor drawn evenly from [1, 1 + padding], rounded
  // up to a customary limit.
  double padding = 1;
  Oversize oversize = Oversize::kCap;
};

inline constexpr std::uint64_t kMaxGeneratedJobs = 20'000'000;

enum class Ending : std::uint8_t { kCompleted, kFailed, kCancelled };
inline constexpr int kEndings = 3;

// What a trace cannot say about itself.
struct GeneratorReport {
  std::uint64_t capped = 0;  // jobs made smaller because the cluster could not hold them
  Seconds span = 0;          // all jobs arrive in [0, span)
  double offered_load = 0;
  std::array<std::uint64_t, kEndings> jobs{};
  std::array<double, kEndings> device_seconds{};
};

// True if `text` is meant for parse_generator rather than as the path of a trace.
bool names_generator(const std::string& text);

// Reads `gen:PRESET[,KEY=VALUE]...`, e.g. `gen:kalos,jobs=100000,load=0.9,seed=7`.
// Ensures: a spec that generate() takes, or every mistake in the text, with near misses suggested.
Result<GeneratorSpec> parse_generator(const std::string& text);
std::vector<std::string> generator_presets();

// All mistakes of a spec made by hand; ok() means that generate() depends only on the cluster.
Status check_generator(const GeneratorSpec& spec);

// Draws a trace. The same spec, cluster and seed give the same trace on every platform.
// Ensures: what Trace promises; jobs of one size share a menu; Truth::user_estimate is at least
// Truth::work; exactly the load or the rate asked for, taken over GeneratorReport::span.
// Fails if the spec is wrong, if a job is too large and oversize is kRefuse, or if the jobs would
// arrive over more than kMaxDuration.
// Cost: O(jobs (log classes + log tenants)) time; beside the trace O(classes + tenants) memory.
Result<Trace> generate(const GeneratorSpec& spec, const Cluster& cluster, std::uint64_t seed,
                       GeneratorReport* report = nullptr);

// The time limit that a user who expects `expected` seconds asks for: the next of 15 and 30
// minutes, 1, 2, 4, 8, 12 and 24 hours, 2, 3, 7, 14 and 30 days, or of whole multiples of 30 days.
Seconds customary_limit(Seconds expected);

}  // namespace weft

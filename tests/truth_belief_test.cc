// Truth and belief are apart: what only the world knows cannot reach a decision.
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/random_case_testing.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

// What was decided, and when.
class DecisionRecorder : public Journal {
 public:
  void decision(Seconds at) override {
    lines_.emplace_back(at, "decide");
    if (++decisions_ > kMostDecisions) throw EndlessRun(at);
  }
  void command(Seconds at, const Command& c) override {
    std::string text = fmt::format("{} job {} epoch {} number {}:", static_cast<int>(c.kind), c.job,
                                   c.epoch, c.number);
    if (c.allocation != nullptr) {
      text += fmt::format(" configuration {}", c.allocation->configuration);
      for (const DeviceShare& s : c.allocation->devices) {
        text += fmt::format(" {}*{}", s.device, s.milli);
      }
    }
    lines_.emplace_back(at, text);
  }
  void rejected(Seconds at, JobId id, const std::string& why) override {
    lines_.emplace_back(at, fmt::format("reject {}: {}", id, why));
  }

  // What happened before `until`.
  std::vector<std::pair<Seconds, std::string>> before(Seconds until) const {
    std::vector<std::pair<Seconds, std::string>> out;
    for (const auto& line : lines_) {
      if (line.first < until) out.push_back(line);
    }
    return out;
  }

 private:
  std::vector<std::pair<Seconds, std::string>> lines_;
  long decisions_ = 0;
};

class TruthAndBelief : public testing::TestWithParam<std::string> {};

void expect_same_before_the_end(const Policy& policy, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("{}, seed {}", policy.name(), seed));
  RandomCaseLimits limits;
  limits.most_jobs = 25;
  RandomCase world = make_random_case(seed, limits);
  Random random(seed + 77);
  const auto changed = static_cast<JobId>(random.below(world.trace.jobs.size()));
  if (world.trace.jobs[changed].submission->kind == WorkloadKind::kService) return;
  DecisionRecorder first, second;
  Result<RunResult> one = run_trace(world.cluster, world.trace, policy, world.options, &first);
  ASSERT_TRUE(one.ok()) << one.error().text();
  world.trace.jobs[changed].truth.work *= random.uniform(0.2, 5);
  Result<RunResult> two = run_trace(world.cluster, world.trace, policy, world.options, &second);
  ASSERT_TRUE(two.ok()) << two.error().text();
  const Seconds until = std::min(one->records[changed].end, two->records[changed].end);
  const auto a = first.before(until), b = second.before(until);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    ASSERT_EQ(a[i], b[i]) << "decision " << i << " knew the true length of job " << changed;
  }
  ASSERT_EQ(a.size(), b.size()) << "job " << changed;
}

TEST_P(TruthAndBelief, TrueLengthReachesNoDecisionBeforeTheEnd) {
  const std::unique_ptr<Policy> policy = testing_policy(GetParam());
  const std::uint64_t cases = std::getenv("WEFT_SOAK") != nullptr ? 600 : 20;
  for (std::uint64_t seed = 1; seed <= cases && !HasFailure(); ++seed) {
    try {
      expect_same_before_the_end(*policy, seed);
    } catch (const EndlessRun& endless) {
      FAIL() << "seed " << seed << ": " << endless.what();
    }
  }
}

// Whether other estimates of every job lead to other decisions in one of the random worlds.
bool estimates_reach_decisions(const Policy& policy) {
  constexpr std::uint64_t kMostWorlds = 60;
  for (std::uint64_t seed = 1; seed <= kMostWorlds; ++seed) {
    RandomCaseLimits limits;
    limits.most_jobs = 25;
    RandomCase world = make_random_case(seed, limits);
    world.options.estimates.kind = EstimateMode::Kind::kUser;
    DecisionRecorder first, second;
    Random random(seed + 177);
    EXPECT_TRUE(run_trace(world.cluster, world.trace, policy, world.options, &first).ok());
    for (TraceJob& job : world.trace.jobs) job.truth.user_estimate *= random.uniform(0.1, 10);
    EXPECT_TRUE(run_trace(world.cluster, world.trace, policy, world.options, &second).ok());
    if (first.before(kNever) != second.before(kNever)) return true;
  }
  return false;
}

TEST_P(TruthAndBelief, EstimatesReachDecisionsWhereThePolicySaysSo) {
  const auto composition = find_policy(GetParam());
  ASSERT_TRUE(composition.ok());
  EXPECT_EQ(estimates_reach_decisions(*testing_policy(GetParam())), uses_estimates(*composition))
      << "src/policy/uses_estimates.cc lists the parts that read estimates";
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, TruthAndBelief, testing::ValuesIn(policy_names()),
                         policy_test_name);

// The header that holds true durations may be included by readers and the simulator alone.
TEST(TruthAndBeliefSources, PolicyAndControlDoNotIncludeTheTruth) {
  const auto source = std::filesystem::path(WEFT_FIXTURES) / ".." / ".." / "src";
  long files = 0;
  for (const char* room : {"policy", "control"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / room)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      ++files;
      const std::string text = slurp(entry.path().string());
      for (const char* header : {"\"model/trace.h\"", "\"sim/"}) {
        EXPECT_EQ(text.find(std::string("#include ") + header), std::string::npos)
            << entry.path() << " includes " << header;
      }
    }
  }
  EXPECT_GT(files, 20) << "the sources were not found at " << source;
}

}  // namespace
}  // namespace weft

// Every policy says why a job waits: the facts, and its own rule.
#include <gtest/gtest.h>

#include "sim/sim_testing.h"

namespace weft {
namespace {

class ReasonRecorder : public Journal {
 public:
  void reason(const Reason& reason) override { reasons.push_back(reason); }
  std::vector<Reason> reasons;
};

std::vector<Reason> reasons_for(JobId watched, const std::string& cluster,
                                const std::string& policy, const std::vector<JobRow>& rows,
                                SimOptions options = testing_options()) {
  options.watch = watched;
  ReasonRecorder recorder;
  const auto result = run_trace(testing_cluster(cluster), testing_trace(rows),
                                *testing_policy(policy), options, &recorder);
  EXPECT_TRUE(result.ok());
  return recorder.reasons;
}

class Explain : public testing::TestWithParam<std::string> {};

TEST_P(Explain, SaysWhatIsNeededAndWhatIsFree) {
  // a holds both devices when b and c come; no policy can start c, the widest, at 2.
  const std::vector<Reason> reasons =
      reasons_for(2, "1x2", GetParam(), {{0, 2, 5000}, {1, 1, 5000}, {2, 2, 6000}});
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons.front().at, 2);
  for (const Reason& reason : reasons) {
    EXPECT_NE(reason.text.find("needs 2 devices"), std::string::npos) << reason.text;
    EXPECT_NE(reason.text.find("free"), std::string::npos) << reason.text;
    EXPECT_LE(reason.ahead, 2u) << reason.text;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, Explain, testing::ValuesIn(policy_names()), policy_test_name);

struct RuleRow {
  const char* policy;
  std::vector<JobRow> jobs;
  JobId watched;
  const char* says;
  std::uint32_t ahead;
};

TEST(ExplainRule, IsToldInTheAllocatorsOwnWords) {
  const auto of = [](TenantId tenant, JobRow row) {
    row.tenant = tenant;
    return row;
  };
  const RuleRow rows[] = {
      {"fifo",
       {{0, 1, 100}, {1, 2, 50}, {2, 1, 50}},
       2,
       "would fit, 1 are free; job b is first",
       1},
      {"drf",
       {of(0, {0, 2, 100}), of(1, {1, 1, 50}), of(0, {2, 1, 50})},
       2,
       "dominant share is 1.000, the least of those that wait 0.000",
       1},
      {"themis", {{0, 2, 5000}, {1, 2, 5000}}, 1, "its rho is", 0},
      {"shockwave", {{0, 2, 5000}, {1, 2, 5000}}, 1, "dealt anew at 120 s", 0},
      {"base: quota\nallocate: {part: quota, shares: [1, 0]}\n",
       {of(0, {0, 2, 100}), of(1, {1, 1, 50})},
       1,
       "must borrow, for it is beyond its tenant's 0.0 guaranteed devices",
       0},
      {"edf", {{0, 2, 100, 0, 200}, {1, 2, 50, 0, 500}}, 1, "it is booked from 120 s on", 0},
      {"hived", {{0, 2, 100}, {1, 1, 50}, {2, 1, 50}}, 2, "1 virtual nodes have no free cell", 1},
      {"max-min", {{0, 2, 5000}, {1, 2, 5000}}, 1, "no share yet; shares are computed anew", 0},
      {"sia", {{0, 2, 100}, {1, 2, 50}}, 1, "before the next round at 60 s", 0},
      {"allox", {{0, 2, 100}, {1, 2, 50}}, 1, "no device is free", 0},
      {"spot-mix", {{0, 2, 100}, {1, 2, 50}}, 1, "no node of either class has room", 0},
  };
  for (const RuleRow& row : rows) {
    const std::vector<Reason> reasons = reasons_for(row.watched, "1x2", row.policy, row.jobs);
    ASSERT_FALSE(reasons.empty()) << row.policy;
    EXPECT_NE(reasons.front().text.find(row.says), std::string::npos)
        << row.policy << ": " << reasons.front().text;
    EXPECT_EQ(reasons.front().ahead, row.ahead) << row.policy << ": " << reasons.front().text;
  }
}

TEST(ExplainRule, AJobThatIsHeldBackIsSaidToBe) {
  SimOptions options = testing_options();
  options.checkpoint_interval = 1000;  // so that no run gets further
  options.faults.recorded = {{10, 0, 1, 0}, {12, 0, 100, 0}};
  const std::vector<Reason> reasons = reasons_for(0, "1x1", "fifo", {{0, 1, 50}}, options);
  ASSERT_FALSE(reasons.empty());
  EXPECT_NE(reasons.front().text, "held back until 11 s after 1 setbacks") << "the first is free";
  EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(), [](const Reason& reason) {
    return reason.text == "held back until 13 s after 2 setbacks";
  }));
}

}  // namespace
}  // namespace weft

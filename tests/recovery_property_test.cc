// What a controller was told and what its policy decided is enough to make it again without the
// policy: the same commands to the last number, also from an image taken on the way. Every policy,
// in random worlds where messages are lost, nodes die and the controller itself restarts.
#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>
#include <variant>

#include "control/decision.h"
#include "sim/random_case_testing.h"

namespace weft {
namespace {

using Sent = std::tuple<CommandKind, JobId, std::uint32_t, std::uint32_t, Seconds, Allocation>;

Sent sent_of(const Command& c) {
  return {c.kind,   c.job,      c.epoch,
          c.number, c.deadline, c.allocation != nullptr ? *c.allocation : Allocation{}};
}

class Tape : public Journal {
 public:
  void event(const Event& e) override { told.emplace_back(e); }
  void decision(Seconds at) override { at_ = at; }
  void decided(const Draft& draft) override {
    told.emplace_back(std::pair(at_, decision_of(draft)));
  }
  void command(Seconds, const Command& c) override { sent.push_back(sent_of(c)); }

  std::vector<std::variant<Event, std::pair<Seconds, Decision>>> told;
  std::vector<Sent> sent;

 private:
  Seconds at_ = 0;
};

class NeverCalled : public Policy {
 public:
  void decide(Draft&, const Change&, PolicyMemory&) const override {
    ADD_FAILURE() << "the policy was called";
  }
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<PolicyMemory>();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "never called";
};

struct NoExecutor : Executor {
  void execute(const Command&) override {}
};

class Recovery : public testing::TestWithParam<std::string> {};

void recover_case(const Policy& policy, std::uint64_t seed) {
  SCOPED_TRACE(policy.name() + ", WEFT_SEED=" + std::to_string(seed));
  const RandomCase world = make_random_case(seed);
  Tape tape, again;
  const auto result = run_trace(world.cluster, world.trace, policy, world.options, &tape);
  ASSERT_TRUE(result.ok()) << result.error().text();
  const NeverCalled never;
  NoExecutor executor;
  ControllerOptions options;
  options.command_timeout = std::max(30.0, 10 * world.options.channel.delay_mean);
  options.estimates_from_history = world.options.estimates.kind == EstimateMode::Kind::kHistory;
  auto controller = std::make_unique<Controller>(world.cluster, never, executor, options, &again);
  const std::size_t half = Random(seed).below(tape.told.size());
  for (std::size_t i = 0; i < tape.told.size(); ++i) {
    if (i == half) {
      const std::string image = controller->image();
      controller = std::make_unique<Controller>(world.cluster, never, executor, options, &again);
      const Status restored = controller->restore(image);
      ASSERT_TRUE(restored.ok()) << restored.error().text();
      EXPECT_EQ(controller->image(), image);
    }
    if (const Event* event = std::get_if<Event>(&tape.told[i])) {
      controller->handle(*event);
    } else {
      const auto& [at, decision] = std::get<1>(tape.told[i]);
      const Status folded = controller->fold(at, decision);
      ASSERT_TRUE(folded.ok()) << folded.error().text();
    }
  }
  ASSERT_EQ(again.sent.size(), tape.sent.size());
  EXPECT_EQ(again.sent, tape.sent);
}

TEST_P(Recovery, NeedsNoPolicy) {
  const std::unique_ptr<Policy> policy = testing_policy(GetParam());
  if (const char* seed = std::getenv("WEFT_SEED"); seed != nullptr) {
    return recover_case(*policy, std::strtoull(seed, nullptr, 10));
  }
  const std::uint64_t cases = std::getenv("WEFT_SOAK") != nullptr ? 1000 : 30;
  for (std::uint64_t seed = 1; seed <= cases && !HasFailure(); ++seed) recover_case(*policy, seed);
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, Recovery, testing::ValuesIn(policy_names()),
                         policy_test_name);

}  // namespace
}  // namespace weft

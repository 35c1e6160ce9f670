// Saved states: they read back at any moment, and damage is refused.
#include <gmock/gmock.h>

#include "sync/quadratic_testing.h"
#include "sync/state_text.h"

namespace weft::sync {
namespace {

using testing::HasSubstr;

TEST(MachineState, ReadsBackAtAnyMoment) {
  for (const ModeHelp& help : list_modes()) {
    Random random(2);
    const Quadratics q = Quadratics::draw(5, 3, 1);
    SwarmOptions options = q.swarm(*parse_mode(help.name));
    const std::vector<Member> all = options.members;
    options.step_s = [&](std::uint32_t) { return random.exponential(1); };
    options.message_s = [&] { return random.exponential(1); };
    Swarm swarm(std::move(options));
    for (int moment = 0; moment < 500; ++moment) {
      ASSERT_TRUE(swarm.turn());
      const std::string saved = swarm.rank(2).machine.save();
      const auto again = Machine::restore(saved, all, 2);
      ASSERT_TRUE(again.ok()) << again.error().what << "\n" << saved;
      EXPECT_EQ(again->save(), saved);
      EXPECT_EQ(again->round(), swarm.rank(2).machine.round());
      for (const std::uint32_t ranks : {3U, 8U}) {
        const auto other = Machine::restore(saved, members(ranks), ranks - 1);
        ASSERT_TRUE(other.ok());
        EXPECT_EQ(other->save(), saved) << "nothing in it belongs to a number of ranks";
      }
    }
  }
}

TEST(MachineState, DamageIsRefused) {
  const auto machine = Machine::make(*parse_mode("diloco:fragments=4"), members(3), 1);
  const std::string saved = machine->save();
  for (std::size_t i = 0; i < saved.size(); ++i) {
    std::string damaged = saved;
    damaged[i] ^= 1;
    EXPECT_FALSE(Machine::restore(damaged, members(3), 1).ok()) << i;
    EXPECT_FALSE(Machine::restore(saved.substr(0, i), members(3), 1).ok()) << i;
  }
}

TEST(MachineState, HostileTextsWithGoodChecksumsAreRefused) {
  const auto machine = Machine::make(*parse_mode("diloco:fragments=2,overlap=3"), members(3), 1);
  const std::string saved = machine->save();
  const std::string body = saved.substr(0, saved.rfind("check "));
  ASSERT_TRUE(Machine::restore(seal(body), members(3), 1).ok());
  const struct {
    const char *from, *to, *says;
  } rows[] = {
      {"weft-sync-rank 1", "weft-sync-rank 2", "this version reads"},
      {"mode diloco:", "mode dilaco:", "did you mean"},
      {"step 0", "step -1", "whole number"},
      {"step 0", "step 1e300", "whole number"},
      {"step 0", "stop 0", "stands where"},
      {"period 50", "period 51", "whole number"},
      {"period 50", "period 0", "from 1"},
      {"due 25 50", "due 25", "2 fragments"},
      {"due 25 50", "due 25 50 75", "at most 2"},
      {"due 25 50", "due 25 9007199254740992", "cannot be"},
      {"since 0 0", "since 9 0", "cannot be"},
      {"operations 0", "operations 3", "whole number"},
      {"operations 0", "operations 1\noperation 1 2 0 0 1 0 0 0", "cannot be"},
      {"operations 0", "operations 1\noperation 1 0 0 7 1 0 0 0", "cannot be"},
      {"operations 0", "operations 1\noperation 0 0 0 0 1 0 0 0", "cannot be"},
      {"operations 0", "operations 1\noperation 1 0 0 0 1 0 0", "cannot be"},
      {"operations 0", "operations 0\nmore 1", "too many"},
  };
  for (const auto& row : rows) {
    std::string text = body;
    const std::size_t at = text.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from;
    text.replace(at, std::string(row.from).size(), row.to);
    const auto read = Machine::restore(seal(text), members(3), 1);
    ASSERT_FALSE(read.ok()) << row.to;
    EXPECT_THAT(read.error().text(), HasSubstr(row.says)) << row.to;
  }
}

TEST(MachineState, AdoptingAnotherModeIsRefused) {
  std::vector<Member> three = members(3);
  three[1].joining = true;
  auto machine = Machine::make(*parse_mode("diloco"), three, 1);
  const Actions actions = machine->start();
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(actions[0].kind, Action::Kind::kAdopt);
  EXPECT_EQ(actions[0].from, 0U) << "the lowest of the furthest";
  const auto other = Machine::make(*parse_mode("local"), members(3), 0);
  EXPECT_THAT(machine->adopt(other->save()).error().what, HasSubstr("'local'"));
}

// A checkpoint of 4 ranks, for 3 and for 6: the mean of the control variates stays.
TEST(ReplicaState, ControlVariatesKeepTheirMean) {
  Random random(1);
  std::vector<std::vector<double>> old(4, std::vector<double>(10));
  for (auto& own : old) {
    for (double& value : own) value = random.normal();
  }
  for (const std::size_t count : {1UL, 3UL, 4UL, 6UL}) {
    const auto now = reshard_control(old, count);
    ASSERT_EQ(now.size(), count);
    for (std::size_t i = 0; i < 10; ++i) {
      double before = 0, after = 0;
      for (const auto& own : old) before += own[i] / 4;
      for (const auto& own : now) after += own[i] / static_cast<double>(count);
      EXPECT_NEAR(before, after, 1e-14);
    }
  }
  EXPECT_EQ(reshard_control(old, 4), old);
}

TEST(ReplicaState, VectorsAreThoseTheModeNeeds) {
  const auto sizes = [](const char* text) {
    Replica<float> replica(*parse_mode(text), 10);
    std::string said;
    for (const auto& vector : replica.vectors()) {
      if (!vector.values->empty()) said += std::string(vector.name) + " ";
    }
    return said;
  };
  EXPECT_EQ(sizes("bsp"), "");
  EXPECT_EQ(sizes("gossip"), "");
  EXPECT_EQ(sizes("local"), "agreed ");
  EXPECT_EQ(sizes("asp"), "agreed ");
  EXPECT_EQ(sizes("diloco"), "agreed momentum ");
  EXPECT_EQ(sizes("diloco:outer_momentum=0"), "agreed ");
  EXPECT_EQ(sizes("fedadam"), "agreed momentum second_moment ");
  EXPECT_EQ(sizes("scaffold"), "agreed control own_control ");
}

}  // namespace
}  // namespace weft::sync

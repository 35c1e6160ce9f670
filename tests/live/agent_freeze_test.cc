// A frozen run goes on as a later epoch of its job, whatever dies in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/live/agent_testing.h"

namespace weft {
namespace {

using testing::HasSubstr;

class AgentFreeze : public testing::Test {
 protected:
  AgentFreeze() : node_(controller_) { controller_.wait({{"op", "hello"}}); }
  ~AgentFreeze() override {
    for (const int epoch : {1, 2}) {
      controller_.send({{"op", "stop"},
                        {"uuid", "a"},
                        {"epoch", epoch},
                        {"number", 1 << 20},
                        {"signal", SIGKILL},
                        {"grace_s", 0}});
      controller_.wait({{"op", "outcome"}, {"epoch", epoch}, {"number", 1 << 20}}, 1, 5);
    }
  }

  AgentJson order(std::uint32_t epoch = 1) {
    AgentJson order = node_.order("a", "while :; do echo $$ >>$T/ticks.$RANK; sleep 0.01; done", 2);
    order["epoch"] = epoch;
    order["number"] = 2 * epoch - 1;
    return order;
  }
  AgentJson thaw() {
    AgentJson next = order(2);
    next["thaw"] = 1;
    return next;
  }
  void freeze_first_epoch() {
    controller_.send(order());
    ASSERT_TRUE(wait_until([&] { return ticks(0) > 2 && ticks(1) > 2; }));
    controller_.send({{"op", "freeze"}, {"uuid", "a"}, {"epoch", 1}, {"number", 2}});
    ASSERT_EQ(result(1, 2), "done") << controller_.said();
    frozen_ = {ticks(0), ticks(1)};
  }
  std::string result(int epoch, int number, std::size_t n = 1) {
    const AgentJson said =
        controller_.wait({{"op", "outcome"}, {"epoch", epoch}, {"number", number}}, n);
    return said.is_object() ? said.value("result", "") : "nothing";
  }
  std::size_t ticks(int rank) const {
    const std::string text = text_of(rank);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  std::string text_of(int rank) const {
    return slurp(node_.scratch.path("ticks." + std::to_string(rank)));
  }
  // Both ranks go on, each in the process in which it began.
  void expect_going_on() {
    for (const int rank : {0, 1}) {
      EXPECT_TRUE(wait_until([&] {
        return ticks(rank) > frozen_.at(static_cast<std::size_t>(rank)) + 2;
      })) << rank;
      const std::string text = text_of(rank), first = text.substr(0, text.find('\n') + 1);
      for (std::size_t at = 0; at < text.size(); at += first.size()) {
        ASSERT_EQ(text.substr(at, first.size()), first) << rank;
      }
      EXPECT_GT(node_.keeper("a", rank, 2), 0) << "it has claimed the new epoch";
    }
  }

  FakeController controller_;
  AgentNode node_;
  std::array<std::size_t, 2> frozen_ = {};
};

TEST_F(AgentFreeze, ItGoesOnInTheSameProcessesAndIsThenAnOrdinaryRun) {
  freeze_first_epoch();
  controller_.send(thaw());
  ASSERT_EQ(result(2, 3), "done") << controller_.said();
  expect_going_on();
  controller_.send(thaw());
  EXPECT_EQ(result(2, 3, 2), "done") << "answered again";
  controller_.send(order());
  EXPECT_EQ(controller_.wait({{"op", "outcome"}, {"epoch", 1}, {"number", 1}}, 2)["result"],
            "refused")
      << "the first epoch is over";
  controller_.send({{"op", "stop"}, {"uuid", "a"}, {"epoch", 2}, {"number", 4}, {"grace_s", 2}});
  EXPECT_EQ(result(2, 4), "done");
  EXPECT_EQ(controller_.all({{"op", "ended"}, {"epoch", 2}}).size(), 2u);
  EXPECT_TRUE(controller_.all({{"op", "ended"}, {"epoch", 1}}).empty());
}

TEST_F(AgentFreeze, WhatIsNotFrozenHereInThatShapeIsRefused) {
  struct Row {
    const char* what;
    std::function<void(AgentJson&)> change;
    const char* why;
  };
  freeze_first_epoch();
  const Row rows[] = {
      {"another epoch", [](AgentJson& j) { j["thaw"] = 7, j["epoch"] = 9; }, "still here"},
      {"more memory", [](AgentJson& j) { j["ranks"][0]["memory"] = 1 << 30; }, "other ranks"},
      {"fewer ranks", [](AgentJson& j) { j["ranks"].erase(1); }, "other ranks"},
      {"no number", [](AgentJson& j) { j["thaw"] = "one"; }, "thaw must be"},
      {"another job", [](AgentJson& j) { j["uuid"] = "b"; }, "is not here"},
  };
  int number = 100;
  for (const Row& row : rows) {
    AgentJson next = thaw();
    next["number"] = ++number;
    row.change(next);
    controller_.send(next);
    const AgentJson said = controller_.wait({{"op", "outcome"}, {"number", number}});
    ASSERT_TRUE(said.is_object()) << row.what;
    EXPECT_EQ(said["result"], "refused") << row.what;
    EXPECT_THAT(said["why"].get<std::string>(), HasSubstr(row.why)) << row.what;
  }
  controller_.send(thaw());
  EXPECT_EQ(result(2, 3), "done") << controller_.said();
  expect_going_on();
}

TEST_F(AgentFreeze, AnAgentThatDiesMeanwhileGoesOnWithIt) {
  freeze_first_epoch();
  node_.kill_agent();
  node_.start();
  ASSERT_TRUE(controller_.wait({{"op", "hello"}}, 2).is_object());
  controller_.send(thaw());
  ASSERT_EQ(result(2, 3), "done") << controller_.said();
  expect_going_on();
  node_.kill_agent();
  node_.start();
  const AgentJson runs = controller_.wait({{"op", "hello"}}, 3)["runs"];
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]["epoch"], 2);
  controller_.send(thaw());
  EXPECT_EQ(result(2, 3, 2), "done") << "answered by the next agent too";
  EXPECT_TRUE(controller_.all({{"op", "ended"}}).empty()) << controller_.said();
}

// The order of the new epoch is on the disk, and nothing else has happened.
TEST_F(AgentFreeze, AnAgentThatDiesBetweenOrderAndKeepersIsFollowedByOneThatTellsThem) {
  freeze_first_epoch();
  node_.kill_agent();
  const std::string path = node_.scratch.path("agent/runs/a.1/order");
  AgentJson kept = AgentJson::parse(slurp(path)), next = thaw();
  for (const char* name : {"lease_s", "setups"}) next[name] = kept[name];
  next["marked"] = 1;
  node_.scratch.write("agent/runs/a.1/order", next.dump());
  node_.start();
  const AgentJson runs = controller_.wait({{"op", "hello"}}, 2)["runs"];
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]["epoch"], 2);
  EXPECT_TRUE(std::filesystem::exists(node_.scratch.path("agent/runs/a.2/order")));
  expect_going_on();
  controller_.send(thaw());
  EXPECT_EQ(result(2, 3), "done") << controller_.said();
}

TEST_F(AgentFreeze, ARankThatDiesWhileFrozenIsToldAndTheRestIsNotThawed) {
  freeze_first_epoch();
  kill(node_.keeper("a", 0), SIGKILL);
  EXPECT_EQ(controller_.wait({{"op", "ended"}, {"rank", 0}})["why"], "keeper lost");
  controller_.send(thaw());
  EXPECT_EQ(result(2, 3), "refused");
  EXPECT_EQ(ticks(1), frozen_[1]);
}

TEST_F(AgentFreeze, WhatDoesNotRunYetIsNotFrozen) {
  AgentJson late = order();
  late["ranks"].erase(1);
  late["job"]["run"] = "true";
  controller_.send(late);
  controller_.wait({{"op", "ended"}});
  controller_.send({{"op", "freeze"}, {"uuid", "a"}, {"epoch", 1}, {"number", 2}});
  EXPECT_EQ(result(1, 2), "refused");
}

}  // namespace
}  // namespace weft

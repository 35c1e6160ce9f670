// Commands beside the ranks of a real agent, whose controller the test plays: who may begin, and
// that nothing is left behind, whoever dies.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "base/base64.h"
#include "tests/live/agent_testing.h"

namespace weft {
namespace {

using testing::HasSubstr;

// Of this process: agents kill what carries the mark of a command, also another test's.
std::string id_of(char digit) { return fmt::format("{}{:031x}", digit, ::getpid()); }

AgentJson exec(char id, const std::string& uuid, const std::string& script, int rank = 0) {
  return {{"op", "exec"}, {"id", id_of(id)}, {"uuid", uuid},
          {"epoch", 1},   {"rank", rank},    {"command", {"sh", "-c", script}}};
}
AgentJson began(char id) { return {{"op", "exec_began"}, {"id", id_of(id)}}; }
AgentJson exec_ended(char id) { return {{"op", "exec_ended"}, {"id", id_of(id)}}; }

pid_t told_pid(const AgentNode& node, const std::string& name) {
  EXPECT_TRUE(wait_until([&] { return std::atoi(slurp(node.scratch.path(name)).c_str()) > 0; }))
      << name << "\n"
      << node.err();
  return std::atoi(slurp(node.scratch.path(name)).c_str());
}

// A command with a helper that leaves its session and its parent; both tell who they are.
constexpr const char* kStays =
    "setsid sh -c 'echo $$ >$T/helper.tmp; mv $T/helper.tmp $T/helper; exec sleep 1000' & "
    "echo $$ >$T/main.tmp; mv $T/main.tmp $T/main; trap '' TERM HUP; while :; do sleep 1; done";

class AgentExec : public testing::Test {
 protected:
  AgentExec() {
    controller.wait({{"op", "hello"}});
    AgentJson order = node.order("a", "echo $$ >$T/rank; exec sleep 1000");
    order["environment"]["PATH"] = "/usr/bin:/bin";  // where everybody may look
    controller.send(order);
    EXPECT_EQ(controller.wait({{"op", "outcome"}, {"uuid", "a"}, {"number", 1}})["result"], "done");
  }
  // The process of the command and its helper.
  std::pair<pid_t, pid_t> stay(char id) {
    controller.send(exec(id, "a", kStays));
    EXPECT_TRUE(controller.wait(began(id)).is_object()) << controller.said() << node.err();
    return {told_pid(node, "main"), told_pid(node, "helper")};
  }
  std::string output(char id, int stream) const {
    std::string all;
    const AgentJson pattern = {{"op", "exec_output"}, {"id", id_of(id)}, {"stream", stream}};
    for (const AgentJson& message : controller.all(pattern)) {
      all += *from_base64(message["data"].get<std::string>());
    }
    return all;
  }

  FakeController controller{2};
  AgentNode node{controller};
};

TEST_F(AgentExec, TellsOutputByStreamAndTheEnd) {
  controller.send(exec('1', "a", "echo out; echo err >&2; exit 7"));
  const AgentJson end = controller.wait(exec_ended('1'));
  EXPECT_EQ(end["code"], 7) << controller.said();
  EXPECT_EQ(end["signal"], 0);
  EXPECT_EQ(end["why"], "");
  EXPECT_EQ(output('1', 1), "out\n");
  EXPECT_EQ(output('1', 2), "err\n");
  controller.send(exec('2', "a", "kill -9 $$"));
  EXPECT_EQ(controller.wait(exec_ended('2'))["signal"], 9);
  AgentJson missing = exec('3', "a", "");
  missing["command"] = {"no-such-program"};
  controller.send(missing);
  const AgentJson none = controller.wait(exec_ended('3'));
  EXPECT_EQ(none["code"], 127);
  EXPECT_THAT(none["why"].get<std::string>(), HasSubstr("no-such-program"));
}

TEST_F(AgentExec, SendsNoMoreThanItMay) {
  controller.send(exec('1', "a", "head -c 1000000 /dev/zero"));
  const auto bytes = [&] { return output('1', 1).size(); };
  ASSERT_TRUE(wait_until([&] { return bytes() == 256 << 10; })) << bytes();
  controller.send({{"op", "exec_more"}, {"id", id_of('1')}, {"until", 300'000}});
  ASSERT_TRUE(wait_until([&] { return bytes() == 300'000; })) << bytes();
  EXPECT_TRUE(controller.all(exec_ended('1')).empty());
  controller.send({{"op", "exec_more"}, {"id", id_of('1')}, {"until", 2'000'000}});
  EXPECT_EQ(controller.wait(exec_ended('1'))["code"], 0);
  EXPECT_EQ(bytes(), 1'000'000u);
}

TEST_F(AgentExec, IsRefusedWhereNoRankRuns) {
  controller.send(exec('1', "b", "true"));
  EXPECT_EQ(controller.wait(exec_ended('1'))["why"], "rank 0 does not run here");
  controller.send(exec('2', "a", "true", 5));
  EXPECT_EQ(controller.wait(exec_ended('2'))["why"], "rank 5 does not run here");
  AgentJson wrong = exec('3', "a", "true");
  wrong["command"] = "true";
  controller.send(wrong);
  EXPECT_THAT(controller.wait(exec_ended('3'))["why"].get<std::string>(),
              HasSubstr("list of 1 to"));
  controller.send({{"op", "freeze"}, {"uuid", "a"}, {"epoch", 1}, {"number", 2}});
  controller.wait({{"op", "outcome"}, {"uuid", "a"}, {"number", 2}});
  controller.send(exec('4', "a", "true"));
  EXPECT_EQ(controller.wait(exec_ended('4'))["why"], "rank 0 is frozen");
  controller.send({{"op", "thaw"}, {"uuid", "a"}, {"epoch", 1}, {"number", 3}});
  controller.wait({{"op", "outcome"}, {"uuid", "a"}, {"number", 3}});
  controller.send(exec('5', "a", "true"));
  EXPECT_EQ(controller.wait(exec_ended('5'))["why"], "");
  for (const char id : {'1', '2', '3', '4'}) EXPECT_TRUE(controller.all(began(id)).empty());
}

TEST_F(AgentExec, EndsWhenItsCallerSaysSo) {
  const auto [main, helper] = stay('1');
  controller.send({{"op", "exec_end"}, {"id", id_of('1')}});
  EXPECT_EQ(controller.wait(exec_ended('1'))["signal"], SIGKILL) << "it heeded nothing else";
  EXPECT_FALSE(lives(main));
  EXPECT_FALSE(lives(helper));
}

TEST_F(AgentExec, EndsWithItsTime) {
  AgentJson order = exec('1', "a", kStays);
  order["timeout_s"] = 0.3;
  controller.send(order);
  const AgentJson end = controller.wait(exec_ended('1'));
  EXPECT_EQ(end["signal"], SIGKILL);
  EXPECT_EQ(end["why"], "its time of 0.3 s is over");
}

TEST_F(AgentExec, EndsWithItsRank) {
  const auto [main, helper] = stay('1');
  kill(told_pid(node, "rank"), SIGKILL);
  controller.wait({{"op", "ended"}, {"uuid", "a"}});
  EXPECT_FALSE(lives(main)) << "before the end of the rank is told";
  EXPECT_FALSE(lives(helper));
  EXPECT_EQ(controller.wait(exec_ended('1'))["signal"], SIGKILL);
}

TEST_F(AgentExec, EndsWhenItsRankIsFrozen) {
  const auto [main, helper] = stay('1');
  controller.send({{"op", "freeze"}, {"uuid", "a"}, {"epoch", 1}, {"number", 2}});
  EXPECT_EQ(controller.wait({{"op", "outcome"}, {"uuid", "a"}, {"number", 2}})["result"], "done");
  controller.send({{"op", "thaw"}, {"uuid", "a"}, {"epoch", 1}, {"number", 3}});
  EXPECT_EQ(controller.wait({{"op", "outcome"}, {"uuid", "a"}, {"number", 3}})["result"], "done");
  EXPECT_EQ(controller.wait(exec_ended('1'))["why"], "rank 0 is frozen");
  EXPECT_FALSE(lives(main));
  EXPECT_FALSE(lives(helper));
  EXPECT_TRUE(lives(told_pid(node, "rank"))) << "which goes on";
}

TEST_F(AgentExec, EndsWithItsController) {
  const auto [main, helper] = stay('1');
  controller.hang_up();
  EXPECT_TRUE(wait_until([&] { return !lives(main) && !lives(helper); }));
  EXPECT_TRUE(controller.wait({{"op", "hello"}}, 2).is_object()) << "of the same agent";
  EXPECT_TRUE(lives(told_pid(node, "rank"))) << "which goes on";
}

TEST_F(AgentExec, EndsWithItsAgent) {
  const auto [main, helper] = stay('1');
  node.kill_agent();
  EXPECT_TRUE(wait_until([&] { return !lives(main) && !lives(helper); }));
  node.start();
  controller.wait({{"op", "hello"}}, 2);
  EXPECT_TRUE(lives(told_pid(node, "rank"))) << "which goes on";
  controller.send(exec('2', "a", "true"));
  EXPECT_EQ(controller.wait(exec_ended('2'))["why"], "");
}

TEST_F(AgentExec, EndsWithItsKeeper) {
  const auto [main, helper] = stay('1');
  const std::string stat = slurp("/proc/" + std::to_string(main) + "/stat");
  const pid_t keeper = std::atoi(stat.c_str() + stat.rfind(") ") + 4);
  ASSERT_GT(keeper, 1);
  kill(keeper, SIGKILL);
  EXPECT_EQ(controller.wait(exec_ended('1'))["why"], "its keeper was lost");
  EXPECT_FALSE(lives(main));
  EXPECT_FALSE(lives(helper));
}

TEST_F(AgentExec, MalformedWordsEndTheConnection) {
  int hellos = 1;
  for (const AgentJson& wrong :
       std::vector<AgentJson>{{{"op", "exec"}, {"id", "short"}},
                              {{"op", "exec_input"}, {"id", id_of('1')}, {"data", "%"}},
                              {{"op", "exec_more"}, {"id", id_of('1')}, {"until", "all"}},
                              {{"op", "exec_size"}, {"id", id_of('1')}},
                              {{"op", "exec_dance"}, {"id", id_of('1')}}}) {
    controller.send(wrong);
    EXPECT_TRUE(controller.wait({{"op", "hello"}}, static_cast<std::size_t>(++hellos)).is_object())
        << wrong;
  }
  // Words for a command that is not here are passed over.
  controller.send({{"op", "exec_input"}, {"id", id_of('9')}, {"data", "aGk="}});
  controller.send({{"op", "exec_end"}, {"id", id_of('9')}});
  controller.send(exec('1', "a", "true"));
  EXPECT_EQ(controller.wait(exec_ended('1'))["why"], "");
}

}  // namespace
}  // namespace weft

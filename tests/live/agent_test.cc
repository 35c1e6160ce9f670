// A real agent under a controller that the test plays: who starts, who ends, who survives whom.
#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include "tests/live/agent_testing.h"

namespace weft {
namespace {

AgentJson outcome(const std::string& uuid, int number) {
  return {{"op", "outcome"}, {"uuid", uuid}, {"epoch", 1}, {"number", number}};
}
AgentJson rank_ended(const std::string& uuid, int rank = 0) {
  return {{"op", "ended"}, {"uuid", uuid}, {"epoch", 1}, {"rank", rank}};
}
AgentJson stop(const std::string& uuid, int number, double grace_s) {
  return {{"op", "stop"},     {"uuid", uuid},      {"epoch", 1},
          {"number", number}, {"signal", SIGTERM}, {"grace_s", grace_s}};
}

// Processes of a job tell their ids in files PID_NAME.RANK.
pid_t written_pid(const AgentNode& node, const std::string& name) {
  return std::atoi(slurp(node.scratch.path(name)).c_str());
}
pid_t wait_told(const AgentNode& node, const std::string& name) {
  EXPECT_TRUE(wait_until([&] { return written_pid(node, name) > 0; })) << name << "\n"
                                                                       << node.err();
  return written_pid(node, name);
}

TEST(Agent, SaysWhatItHasAndRunsACommandToItsEnd) {
  FakeController controller;
  AgentNode node(controller, {"--devices", "3"});
  const AgentJson hello = controller.wait({{"op", "hello"}});
  ASSERT_TRUE(hello.is_object()) << node.err();
  EXPECT_EQ(hello["node"], node.name);
  EXPECT_EQ(hello["devices"].size(), 3U);
  EXPECT_EQ(hello["devices"][2]["kind"], "cpu-slot");
  EXPECT_TRUE(hello["runs"].empty());
  AgentJson order = node.order(
      "a", "echo rank $RANK of $WORLD_SIZE local $LOCAL_RANK on $WEFT_DEVICES $HIDDEN.; exit $RANK",
      2);
  order["ranks"][1]["devices"] = {0, 2};
  controller.send(order);
  EXPECT_EQ(controller.wait(outcome("a", 1))["result"], "done") << controller.said() << node.err();
  EXPECT_EQ(controller.wait(rank_ended("a", 0))["code"], 0);
  const AgentJson second = controller.wait(rank_ended("a", 1));
  EXPECT_EQ(second["code"], 1);
  EXPECT_EQ(second["signal"], 0);
  EXPECT_EQ(second["why"], "");
  EXPECT_EQ(node.log(0), "rank 0 of 2 local 0 on .\n");
  EXPECT_EQ(node.log(1), "rank 1 of 2 local 1 on 0,2 .\n");
}

TEST(Agent, StopsWithSignalAndGrace) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  controller.send(
      node.order("a", "trap 'echo saved; exit 7' TERM; touch $T/ready; sleep 100 & wait"));
  EXPECT_EQ(controller.wait(outcome("a", 1))["result"], "done") << controller.said();
  ASSERT_TRUE(wait_until([&] { return !access(node.scratch.path("ready").c_str(), F_OK); }));
  controller.send(stop("a", 2, 20));
  EXPECT_EQ(controller.wait(outcome("a", 2))["result"], "done") << controller.said();
  const AgentJson end = controller.wait(rank_ended("a"));
  EXPECT_EQ(end["code"], 7);
  EXPECT_EQ(end["why"], "stopped");
  EXPECT_EQ(node.log(), "saved\n");
}

TEST(Agent, KillsWhatIgnoresTheSignalAndAllItsChildren) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  controller.send(node.order(
      "a",
      "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ >$T/child; sleep 100; sleep 100' &) "
      "; echo $$ >$T/main; sleep 100; sleep 100"));
  const pid_t main = wait_told(node, "main"), child = wait_told(node, "child");
  controller.send(stop("a", 2, 0.2));
  EXPECT_EQ(controller.wait(outcome("a", 2))["result"], "done") << controller.said();
  EXPECT_FALSE(lives(main));
  EXPECT_FALSE(lives(child));
  EXPECT_EQ(controller.wait(rank_ended("a"))["signal"], SIGKILL);
}

TEST(Agent, CarriesOutANumberOnceAndAnEpochOnce) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  AgentJson order = node.order("a", "echo x >>$T/count; sleep 100");
  controller.send(order);
  controller.send(order);
  EXPECT_EQ(controller.wait(outcome("a", 1))["result"], "done");
  controller.send(order);
  EXPECT_EQ(controller.wait(outcome("a", 1), 2)["result"], "done") << controller.said();
  order["number"] = 5;
  controller.send(order);
  EXPECT_EQ(controller.wait(outcome("a", 5))["result"], "refused") << controller.said();
  EXPECT_TRUE(wait_until([&] { return slurp(node.scratch.path("count")) == "x\n"; }));
  controller.send(stop("a", 7, 0));
  EXPECT_EQ(controller.wait(outcome("a", 7))["result"], "done");
  controller.send(stop("a", 6, 0));  // late, and dropped
  order["number"] = 8;
  controller.send({{"op", "forget"}, {"uuid", "a"}, {"epoch", 1}});
  controller.send(order);
  EXPECT_EQ(controller.wait(outcome("a", 8))["result"], "refused") << controller.said();
  EXPECT_TRUE(controller.all(outcome("a", 6)).empty());
  EXPECT_EQ(slurp(node.scratch.path("count")), "x\n");
}

TEST(Agent, RefusesARunThatWasStoppedBeforeItCame) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  controller.send(stop("a", 2, 1));
  EXPECT_EQ(controller.wait(outcome("a", 2))["result"], "done");
  node.kill_agent();
  node.start();
  controller.wait({{"op", "hello"}}, 2);
  AgentJson order = node.order("a", "touch $T/ran");
  controller.send(order);
  EXPECT_EQ(controller.wait(outcome("a", 1))["result"], "refused") << controller.said();
  order["epoch"] = 2;
  controller.send(order);
  EXPECT_EQ(controller.wait({{"op", "outcome"}, {"epoch", 2}})["result"], "done");
}

TEST(Agent, SurvivorsAreTakenOverByTheNextAgent) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  controller.send(
      node.order("a", "echo start >>$T/starts; echo $$ >$T/pid.$RANK; " + await("go"), 2));
  const pid_t first = wait_told(node, "pid.0"), second = wait_told(node, "pid.1");
  for (int round = 2; round < 5; ++round) {
    node.kill_agent();
    node.start();
    const AgentJson hello = controller.wait({{"op", "hello"}}, static_cast<std::size_t>(round));
    ASSERT_EQ(hello["runs"].size(), 1U) << node.err();
    EXPECT_EQ(hello["runs"][0]["ranks"].size(), 2U);
  }
  EXPECT_TRUE(lives(first) && lives(second));
  node.kill_agent();
  node.scratch.write("go", "");
  EXPECT_TRUE(wait_until([&] { return !lives(first) && !lives(second); }));
  node.start();
  EXPECT_EQ(controller.wait(rank_ended("a", 0))["code"], 0) << controller.said();
  EXPECT_EQ(controller.wait(rank_ended("a", 1))["code"], 0);
  EXPECT_EQ(slurp(node.scratch.path("starts")), "start\nstart\n");
}

TEST(Agent, RanksEndWhenNoAgentComesBackInTime) {
  FakeController controller(1);
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  controller.send(node.order("a", "trap '' TERM; echo $$ >$T/pid; sleep 100; sleep 100"));
  const pid_t rank = wait_told(node, "pid");
  const std::int64_t from = monotonic_ns();
  node.kill_agent();
  EXPECT_TRUE(wait_until([&] { return !lives(rank); }));
  EXPECT_LT(1e-9 * static_cast<double>(monotonic_ns() - from), 1.5);
  node.start();
  EXPECT_EQ(controller.wait(rank_ended("a"))["why"], "lease") << controller.said();
}

TEST(Agent, OnlyJobsThatAskForItEndWithTheControllersLease) {
  FakeController controller(1);
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  AgentJson stops = node.order("stops", "echo $$ >$T/stops; sleep 100");
  stops["job"]["on_controller_loss"] = "stop";
  controller.send(stops);
  controller.send(node.order("goes-on", "echo $$ >$T/goes; sleep 100"));
  const pid_t one = wait_told(node, "stops"), other = wait_told(node, "goes");
  controller.set_renewing(false);
  const std::int64_t from = monotonic_ns();
  EXPECT_TRUE(wait_until([&] { return !lives(one); }));
  EXPECT_LT(1e-9 * static_cast<double>(monotonic_ns() - from), 1.5);
  EXPECT_EQ(controller.wait(rank_ended("stops"))["why"], "lease") << controller.said();
  EXPECT_TRUE(lives(other));
}

TEST(Agent, ACommandEndsWithItsKeeper) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  controller.send(node.order(
      "a",
      "echo $$ >$T/main; (setsid sh -c 'echo $$ >$T/child; sleep 100; sleep 100' &); sleep 100;:"));
  const pid_t main = wait_told(node, "main"), child = wait_told(node, "child");
  const pid_t keeper = node.keeper("a");
  ASSERT_GT(keeper, 1);
  kill(keeper, SIGKILL);
  const AgentJson end = controller.wait(rank_ended("a"));
  EXPECT_EQ(end["why"], "keeper lost") << controller.said();
  EXPECT_FALSE(lives(main));
  EXPECT_FALSE(lives(child));
}

// The process from which the agent's keepers are forked.
pid_t server_of(const AgentNode& node) {
  const std::string tasks = "/proc/" + std::to_string(node.pid()) + "/task";
  pid_t server = -1;
  for (const auto& thread : std::filesystem::directory_iterator(tasks)) {
    std::istringstream children(slurp(thread.path().string() + "/children"));
    for (pid_t child = 0; children >> child;) server = child;
  }
  return server;
}

TEST(Agent, RanksOutliveTheProcessThatForkedTheirKeepers) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  controller.send(node.order("a", "echo $$ >$T/pid; " + await("go")));
  const pid_t rank = wait_told(node, "pid");
  EXPECT_THAT(slurp("/proc/" + std::to_string(node.keeper("a")) + "/cmdline"),
              testing::HasSubstr(std::string("a.1\0"
                                             "0",
                                             5)));
  const pid_t server = server_of(node);
  ASSERT_GT(server, 1);
  kill(server, SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !lives(server); }));
  controller.send(node.order("b", "true"));
  EXPECT_EQ(controller.wait(outcome("b", 1))["result"], "done") << controller.said();
  EXPECT_TRUE(lives(rank));
  node.scratch.write("go", "");
  EXPECT_EQ(controller.wait(rank_ended("a"))["code"], 0) << controller.said();
}

TEST(Agent, AKeeperThatNeverCameIsAFailedStart) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  const pid_t server = server_of(node);
  ASSERT_GT(server, 1);
  kill(server, SIGSTOP);
  AgentJson order = node.order("a", "echo x >>$T/ran");
  controller.send(order);
  controller.send(stop("z", 2, 1));  // answered once the keeper has been asked for
  ASSERT_EQ(controller.wait(outcome("z", 2))["result"], "done");
  kill(server, SIGKILL);
  EXPECT_EQ(controller.wait(outcome("a", 1))["result"], "failed") << controller.said();
  order["epoch"] = 2;
  controller.send(order);
  EXPECT_EQ(controller.wait({{"op", "outcome"}, {"epoch", 2}})["result"], "done");
  EXPECT_TRUE(wait_until([&] { return slurp(node.scratch.path("ran")) == "x\n"; }));
}

TEST(Agent, AnOldTermIsRefused) {
  FakeController controller;
  controller.set_term(5);
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  AgentJson order = node.order("a", "touch $T/ran; sleep 100");
  order["term"] = 4;
  controller.send(order);
  const AgentJson refused = controller.wait(outcome("a", 1));
  EXPECT_EQ(refused["result"], "refused");
  EXPECT_EQ(refused["why"], "term 4 is over");
  node.kill_agent();
  controller.set_term(4);
  node.start();
  EXPECT_EQ(controller.wait({{"op", "hello"}}, 2)["term"], 5);
  EXPECT_TRUE(wait_until([&] { return node.err().find("term 4 is over") != std::string::npos; }));
  controller.set_term(6);
  order["term"] = 6;
  EXPECT_TRUE(wait_until([&] {
    controller.send(order);
    return !controller.wait({{"op", "outcome"}, {"result", "done"}}, 1, 0.2).is_null();
  }));
}

TEST(Agent, AStrangerIsNotJoined) {
  FakeController controller, other;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  node.kill_agent();
  other.write_secret(node.scratch);
  controller.clear();
  node.start();
  EXPECT_TRUE(wait_until([&] { return node.err().find("no controller at") != std::string::npos; }));
  EXPECT_TRUE(controller.all({{"op", "hello"}}).empty());
}

TEST(Agent, SetupComesFirstAndItsFailureIsTheEnd) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  AgentJson good = node.order("good", "echo run");
  good["job"]["setup"] = "echo setup";
  controller.send(good);
  EXPECT_EQ(controller.wait(rank_ended("good"))["code"], 0) << controller.said();
  EXPECT_EQ(node.log(), "setup\nrun\n");
  AgentJson bad = node.order("bad", "touch $T/ran");
  bad["job"]["setup"] = "exit 3";
  controller.send(bad);
  const AgentJson end = controller.wait(rank_ended("bad"));
  EXPECT_EQ(end["code"], 3);
  EXPECT_EQ(end["why"], "setup failed");
  AgentJson nowhere = node.order("nowhere", "true");
  nowhere["job"]["workdir"] = "/no/such/folder";
  controller.send(nowhere);
  const AgentJson failed = controller.wait(outcome("nowhere", 1));
  EXPECT_EQ(failed["result"], "failed");
  EXPECT_NE(failed["why"].get<std::string>().find("/no/such/folder"), std::string::npos);
  EXPECT_NE(access(node.scratch.path("ran").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace weft

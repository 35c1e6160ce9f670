// What an agent enforces, seen from inside the ranks. As root with control groups.
#include <sys/stat.h>

#include <thread>

#include "tests/live/agent_testing.h"

namespace weft {
namespace {

bool can(const AgentJson& hello, const std::string& what) {
  if (!hello.contains("can")) return false;
  const AgentJson& list = hello["can"];
  return std::find(list.begin(), list.end(), what) != list.end();
}
#define SKIP_UNLESS(hello, what) \
  if (!can(hello, what)) GTEST_SKIP() << "this machine cannot enforce: " << (what)

AgentJson numbered(const char* op, const std::string& uuid, int number) {
  return {{"op", op}, {"uuid", uuid}, {"epoch", 1}, {"number", number}};
}

// CPU seconds of runs as the agent tells them next; -1 where it does not.
std::vector<double> cpu_s(FakeController& controller, const std::vector<std::string>& uuids) {
  std::vector<double> found;
  wait_until([&] {
    controller.clear();
    const AgentJson usage = controller.wait({{"op", "usage"}}, 1, 3);
    found.assign(uuids.size(), -1);
    if (usage.is_null()) return false;
    for (const AgentJson& run : usage["runs"]) {
      for (std::size_t i = 0; i < uuids.size(); ++i) {
        if (run["uuid"] == uuids[i]) found[i] = run["cpu_s"];
      }
    }
    return std::find(found.begin(), found.end(), -1) == found.end();
  });
  return found;
}

constexpr const char* kBurn = "echo $$ >$T/$WEFT_RUN; while :; do :; done";

TEST(AgentShares, TheOffenderAloneEndsAtItsMemoryLimit) {
  FakeController controller;
  AgentNode node(controller);
  const AgentJson hello = controller.wait({{"op", "hello"}});
  SKIP_UNLESS(hello, "memory");
  controller.send(node.order("modest", "sleep 100"));
  AgentJson greedy = node.order("greedy", "head -c 200000000 /dev/zero | tail | wc -c; exit 9");
  greedy["ranks"][0]["memory"] = 30 << 20;
  controller.send(greedy);
  const AgentJson end = controller.wait({{"op", "ended"}, {"uuid", "greedy"}});
  EXPECT_EQ(end["why"], "memory limit") << controller.said() << node.err();
  EXPECT_TRUE(controller.all({{"op", "ended"}, {"uuid", "modest"}}).empty());
}

TEST(AgentShares, SharesOfOneProcessorAreKeptAndChanged) {
  FakeController controller;
  AgentNode node(controller, {"--devices", "1"});
  const AgentJson hello = controller.wait({{"op", "hello"}});
  SKIP_UNLESS(hello, "weight");
  AgentJson large = node.order("large", kBurn), small = node.order("small", kBurn);
  for (AgentJson* order : {&large, &small}) {
    (*order)["ranks"][0]["devices"] = {0};
    (*order)["ranks"][0]["cpus"] = {hello["cpus"][0]};
    (*order)["ranks"][0]["milli"] = order == &large ? 750 : 250;
    controller.send(*order);
  }
  ASSERT_FALSE(controller.wait({{"op", "outcome"}, {"uuid", "small"}}).is_null());
  const auto ratio_over_two_seconds = [&] {
    const std::vector<double> from = cpu_s(controller, {"large", "small"});
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const std::vector<double> to = cpu_s(controller, {"large", "small"});
    return (to[0] - from[0]) / std::max(to[1] - from[1], 1e-3);
  };
  // Near 3; a busy machine leaves the one or the other less than it may take.
  const double ratio = ratio_over_two_seconds();
  std::printf("shares of 750 and 250: CPU time %.2f to 1\n", ratio);
  EXPECT_GT(ratio, 1.5);
  AgentJson resize = numbered("resize", "large", 2);
  resize["ranks"] = large["ranks"];
  resize["ranks"][0]["milli"] = 50;
  controller.send(resize);
  EXPECT_EQ(controller.wait({{"op", "outcome"}, {"uuid", "large"}, {"number", 2}})["result"],
            "done");
  EXPECT_LT(ratio_over_two_seconds(), 0.7);
}

TEST(AgentShares, AQuotaHoldsForTheRankAndForTheNode) {
  FakeController controller;
  AgentNode node(controller, {"--cpu-milli", "100"});
  const AgentJson hello = controller.wait({{"op", "hello"}});
  EXPECT_EQ(hello["cpu_milli"], 100);
  SKIP_UNLESS(hello, "quota");
  AgentJson order = node.order("a", kBurn, 2);
  order["ranks"][0]["cpu_milli"] = 50;
  controller.send(order);
  const double from_s = cpu_s(controller, {"a"})[0];
  const std::int64_t from_ns = monotonic_ns();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const double used_s = cpu_s(controller, {"a"})[0] - from_s;
  const double passed_s = 1e-9 * static_cast<double>(monotonic_ns() - from_ns);
  EXPECT_LT(used_s, 0.1 * (passed_s + 1) + 0.05) << passed_s;
}

TEST(AgentShares, AFrozenRankStandsStillAndGoesOn) {
  FakeController controller;
  AgentNode node(controller);
  const AgentJson hello = controller.wait({{"op", "hello"}});
  controller.send(node.order("a", "while :; do echo x >>$T/ticks; sleep 0.01; done"));
  const auto ticks = [&] { return slurp(node.scratch.path("ticks")).size(); };
  ASSERT_TRUE(wait_until([&] { return ticks() > 4; }));
  controller.send(numbered("freeze", "a", 2));
  EXPECT_EQ(controller.wait({{"op", "outcome"}, {"number", 2}})["result"], "done")
      << controller.said();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::size_t frozen = ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(ticks(), frozen);
  node.kill_agent();
  node.start();
  const AgentJson runs = controller.wait({{"op", "hello"}}, 2)["runs"];
  ASSERT_EQ(runs.size(), 1U) << controller.said();
  if (can(hello, "memory")) {
    EXPECT_EQ(runs[0]["ranks"][0]["state"], "frozen");
  }
  controller.send(numbered("thaw", "a", 3));
  EXPECT_EQ(controller.wait({{"op", "outcome"}, {"number", 3}})["result"], "done")
      << controller.said();
  EXPECT_TRUE(wait_until([&] { return ticks() > frozen; }));
  controller.send(numbered("freeze", "a", 4));
  controller.wait({{"op", "outcome"}, {"number", 4}});
  controller.send({{"op", "stop"}, {"uuid", "a"}, {"epoch", 1}, {"number", 5}, {"grace_s", 2}});
  EXPECT_EQ(controller.wait({{"op", "outcome"}, {"number", 5}})["result"], "done")
      << controller.said();
}

TEST(AgentShares, ProcessorsAndGroupsAreGivenAndCleanedUp) {
  FakeController controller;
  AgentNode node(controller);
  const AgentJson hello = controller.wait({{"op", "hello"}});
  SKIP_UNLESS(hello, "cpuset");
  const int cpu = hello["cpus"].back();
  AgentJson order =
      node.order("a", "grep Cpus_allowed_list /proc/self/status; cat /proc/self/cgroup >$T/groups");
  order["ranks"][0]["cpus"] = {cpu};
  controller.send(order);
  EXPECT_EQ(controller.wait({{"op", "ended"}})["code"], 0) << controller.said();
  EXPECT_EQ(node.log(), "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
  const std::string groups = slurp(node.scratch.path("groups"));
  EXPECT_NE(groups.find("/weft/" + node.name + "."), std::string::npos) << groups;
  EXPECT_NE(groups.find("/a.1.0"), std::string::npos) << groups;
  // The rank's groups are gone: its own end is said only then.
  const AgentJson setups =
      AgentJson::parse(slurp(node.scratch.path("agent/runs/a.1/order")))["setups"];
  for (const auto& [controller_name, folder] : setups["0"]["groups"].items()) {
    struct stat facts = {};
    EXPECT_NE(stat(folder.get<std::string>().c_str(), &facts), 0) << controller_name << folder;
  }
}

TEST(AgentShares, ARankRunsAsItsUserWithoutPrivileges) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  // The scratch folder is the tester's alone.
  chmod(node.scratch.path("").c_str(), 0755);
  AgentJson order = node.order("a",
                               "id -u; id -g; grep NoNewPrivs /proc/self/status; "
                               "echo step=3 >/dev/null; cat $T/secret");
  order["job"]["uid"] = 65534;
  order["job"]["gid"] = 65534;
  controller.send(order);
  EXPECT_NE(controller.wait({{"op", "ended"}})["code"], 0) << controller.said();
  EXPECT_EQ(node.log().substr(0, 26), "65534\n65534\nNoNewPrivs:\t1\n");
  EXPECT_NE(node.log().find("Permission denied"), std::string::npos) << node.log();
}

}  // namespace
}  // namespace weft

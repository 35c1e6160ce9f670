// What the daemon does with jobs beyond running them: held, restarted, scaled, watched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/live/up_testing.h"

namespace weft {
namespace {

// What runs keeps what it has done, and goes on with the next daemon.
TEST(JobLife, ADaemonThatGoesDownStopsJobsByTheirCheckpointSignals) {
  Up up;
  const std::string job = up.submit(
      "counting",
      "if [ -e kept ]; then echo again >>kept; exit 0; fi; trap 'echo saved >kept; exit 143' TERM; "
      "touch ready; while :; do sleep 0.05; done",
      "checkpoint: {grace: 20s}\n");
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(up.scratch.path("ready")); }));
  EXPECT_EQ(up.weft("down").code, 0);
  EXPECT_EQ(slurp(up.scratch.path("kept")), "saved\n");
  up.start();
  EXPECT_TRUE(up.comes_to(job, "finished"));
  EXPECT_EQ(slurp(up.scratch.path("kept")), "saved\nagain\n");
  const CommandResult replayed = up.weft("replay --json");
  EXPECT_EQ(replayed.code, 0) << replayed.out << replayed.err;
}

using Json = nlohmann::json;
using testing::HasSubstr;

// A program that tells its agent a line every tenth of a second: the text of the file `says`.
std::string teller(const Scratch& scratch) {
  return scratch.write("teller.py",
                       "import os, socket, sys, time\n"
                       "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                       "step = 0\n"
                       "while True:\n"
                       "  line = open(sys.argv[1]).read().strip()\n"
                       "  if line == 'exit': sys.exit(3)\n"
                       "  if line != 'hang': step += 1\n"
                       "  s.sendto((line.replace('hang', 'x=1') + f' step={step}\\n').encode(),\n"
                       "           os.environ['WEFT_PROGRESS'])\n"
                       "  time.sleep(0.1)\n");
}

TEST(JobLife, JobsWaitForOthersAndArraysTakeTurns) {
  Up up;
  const std::string first = up.submit("first", "while [ ! -e go ]; do sleep 0.05; done");
  const std::string then = up.submit("then", "true", "depends_on: first\n");
  const std::string never = up.submit("never", "true", "depends_on: {job: first, when: failed}\n");
  EXPECT_EQ(up.state(then), "held");
  EXPECT_THAT(up.weft("jobs").out, HasSubstr("waits for first (ok)"));
  up.submit("sweep",
            "touch run.$WEFT_ARRAY_INDEX; ls run.* | wc -l >>most; sleep 0.2; rm "
            "run.$WEFT_ARRAY_INDEX",
            "array: 0-3%1\n");
  // The next daemon knows what the first one held.
  up.end(SIGKILL);
  up.start();
  EXPECT_EQ(up.state(then), "held");
  up.scratch.write("go", "");
  EXPECT_TRUE(up.comes_to(then, "finished"));
  EXPECT_TRUE(up.comes_to(never, "cancelled"));
  EXPECT_THAT(up.ask("GET", "/v1/jobs/" + never).at("why").get<std::string>(),
              HasSubstr("depends on first (failed), which finished"));
  EXPECT_TRUE(up.comes_to("sweep.3", "finished"));
  EXPECT_EQ(slurp(up.scratch.path("most")), "1\n1\n1\n1\n") << "never two at once";
  EXPECT_EQ(up.weft("replay").code, 0) << up.weft("replay").out;
}

TEST(JobLife, AServiceGrowsWithItsLoadAndOneReplicaFallsAlone) {
  Up up;
  for (int i = 0; i < 4; ++i) up.scratch.write("says." + std::to_string(i), "qps=9");
  const std::string job = up.submit("web", "python3 " + teller(up.scratch) + " says.$WEFT_REPLICA",
                                    "service: {replica_policy: {min_replicas: 1, max_replicas: 3, "
                                    "target_qps_per_replica: 10}}\nretries: {backoff: 200ms}\n");
  const auto replicas = [&] {
    return up.ask("GET", "/v1/jobs/" + job)["service"]["replicas"].size();
  };
  ASSERT_TRUE(up.comes_to(job, "running"));
  EXPECT_EQ(replicas(), 1u);
  up.scratch.write("says.0", "qps=28");
  EXPECT_TRUE(wait_until([&] { return replicas() == 3; })) << up.weft("events").out;
  up.scratch.write("says.0", "exit");
  EXPECT_TRUE(wait_until([&] {
    return up.ask("GET", "/v1/jobs/" + job)["remark"].get<std::string>().find("replica 0") == 0;
  }));
  EXPECT_EQ(up.state(job), "running");
  up.scratch.write("says.0", "qps=1");
  for (int i = 1; i < 4; ++i) up.scratch.write("says." + std::to_string(i), "qps=1");
  EXPECT_TRUE(wait_until([&] { return replicas() == 1; })) << up.weft("events").out;
  EXPECT_EQ(up.weft("cancel web").code, 0);
  EXPECT_TRUE(wait_until([&] { return up.weft("replay").code == 0; })) << up.weft("replay").out;
}

TEST(JobLife, AHungJobIsFoundAndStartedAgain) {
  Up up;
  up.scratch.write("says", "loss=1");
  const std::string job =
      up.submit("stuck", "python3 " + teller(up.scratch) + " says",
                "hang: {factor: 3, at_least: 3s, action: restart}\nretries: {backoff: 100ms}\n");
  ASSERT_TRUE(wait_until([&] { return up.ask("GET", "/v1/jobs/" + job)["step"] > 10; }));
  const Json nodes = up.ask("GET", "/v1/jobs/" + job)["nodes"];
  up.scratch.write("says", "hang");
  EXPECT_TRUE(wait_until([&] {
    return up.ask("GET", "/v1/jobs/" + job)["remark"].get<std::string>().find("hung: ") == 0;
  }));
  EXPECT_TRUE(wait_until([&] { return up.ask("GET", "/v1/jobs/" + job)["epoch"] >= 2; }));
  EXPECT_THAT(slurp(up.store() + "/logs/" + job + "/rank-0.stacks"), HasSubstr("python3"));
  EXPECT_TRUE(up.comes_to(job, "running"));
  EXPECT_NE(up.ask("GET", "/v1/jobs/" + job)["nodes"], nodes) << "on another node";
  EXPECT_EQ(up.weft("cancel stuck").code, 0);
}

TEST(JobLife, AReservedNodeIsEmptiedAndGivenBack) {
  Up up;
  const std::string job = up.submit("long", "trap 'exit 0' TERM; sleep 100 & wait",
                                    "num_nodes: 4\ncheckpoint: {grace: 1}\n");
  ASSERT_TRUE(up.comes_to(job, "running"));
  const std::string node = up.ask("GET", "/v1/nodes")["nodes"][0]["node"];
  EXPECT_EQ(up.weft("nodes reserve " + node + " --from 1s --to 1h").code, 0);
  EXPECT_EQ(up.weft("nodes reserve " + node + " --from 2h --to 1h").code, 1);
  EXPECT_TRUE(up.comes_to(job, "queued"));
  EXPECT_THAT(up.ask("GET", "/v1/jobs/" + job)["why"].get<std::string>(), HasSubstr("reserved"));
  EXPECT_THAT(up.weft("nodes").out, HasSubstr("reservation 1 for nobody"));
  EXPECT_EQ(up.weft("nodes open " + node + " --number 1").code, 0);
  EXPECT_TRUE(up.comes_to(job, "running"));
  EXPECT_EQ(up.weft("cancel long").code, 0);
}

}  // namespace
}  // namespace weft

// The daemon as its users meet it: a real `weft up` with agents of its own, asked by the verbs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/stopwatch.h"
#include "live/store/journal.h"
#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

TEST(Daemon, RunsAJobToItsEndAndShowsIt) {
  Up up;
  const std::string job = up.submit("hello", "echo rank $RANK of $WORLD_SIZE");
  ASSERT_TRUE(up.comes_to(job, "finished"));
  EXPECT_EQ(up.weft("logs hello").out, "rank 0 of 1\n");
  EXPECT_THAT(up.weft("jobs --all").out, HasSubstr("finished"));
  EXPECT_THAT(up.weft("events").out, HasSubstr("hello finished"));
  EXPECT_THAT(up.weft("nodes").out, HasSubstr("in service"));
  const CommandResult status = up.weft("status " + job.substr(0, 8) + " --json");
  EXPECT_EQ(Json::parse(status.out).at("spec").at("name"), "hello");
}

TEST(Daemon, RanksOfTwoNodesStartTogether) {
  Up up;
  const std::string job =
      up.submit("gang", "echo $RANK $GROUP_RANK $LOCAL_WORLD_SIZE $WORLD_SIZE >$T.$RANK",
                "num_nodes: 4\nenvs: {T: " + up.scratch.path("out") + "}\n");
  ASSERT_TRUE(up.comes_to(job, "finished"));
  EXPECT_EQ(slurp(up.scratch.path("out.0")), "0 0 2 4\n");
  EXPECT_EQ(slurp(up.scratch.path("out.3")), "3 1 2 4\n");
}

TEST(Daemon, AJobThatFailsIsTriedAgainAndThenGivenUp) {
  Up up;
  const std::string job =
      up.submit("bad", "echo x >>tries; exit 3", "retries: {max: 1, backoff: 1}\n");
  ASSERT_TRUE(up.comes_to(job, "failed"));
  EXPECT_EQ(slurp(up.scratch.path("tries")), "x\nx\n");
  EXPECT_THAT(up.ask("GET", "/v1/jobs/" + job).at("why").get<std::string>(),
              HasSubstr("rank 0 exited with 3"));
}

TEST(Daemon, ACancelledJobEndsWithItsProcesses) {
  Up up;
  const std::string job = up.submit("long", "echo $$ >pid; sleep 100", "checkpoint: {grace: 1}\n");
  ASSERT_TRUE(up.comes_to(job, "running"));
  ASSERT_TRUE(wait_until([&] { return !slurp(up.scratch.path("pid")).empty(); }));
  const pid_t pid = std::stoi(slurp(up.scratch.path("pid")));
  EXPECT_EQ(up.weft("cancel long").code, 0);
  EXPECT_TRUE(up.comes_to(job, "cancelled"));
  EXPECT_TRUE(wait_until([&] { return !lives(pid); }));
  EXPECT_EQ(up.weft("cancel long").code, 1);
}

TEST(Daemon, JobsOutliveIt) {
  Up up;
  const std::string job =
      up.submit("steady", "echo $$ >>pids; while [ ! -e go ]; do sleep 0.05; done");
  ASSERT_TRUE(up.comes_to(job, "running"));
  up.end(SIGKILL);
  up.start();
  EXPECT_EQ(up.ask("GET", "/v1/status").at("term"), 2);
  ASSERT_TRUE(up.comes_to(job, "running"));
  up.scratch.write("go", "");
  ASSERT_TRUE(up.comes_to(job, "finished"));
  const std::string pids = slurp(up.scratch.path("pids"));
  EXPECT_EQ(std::count(pids.begin(), pids.end(), '\n'), 1) << "it ran once: " << pids;
  const CommandResult replayed = up.weft("replay --json");
  EXPECT_EQ(replayed.code, 0) << replayed.out << replayed.err;
  EXPECT_EQ(Json::parse(replayed.out).at("terms"), 2);
  // Agents that an earlier daemon started end, too, when the cluster goes down.
  std::vector<pid_t> agents;
  for (const char* node : {"node-0", "node-1"}) {
    agents.push_back(std::stoi("0" + slurp(up.store() + "/nodes/" + node + "/pid")));
    EXPECT_GT(agents.back(), 1) << node;
  }
  EXPECT_EQ(up.weft("down").code, 0);
  for (const pid_t agent : agents) EXPECT_TRUE(wait_until([&] { return !lives(agent); })) << agent;
}

// Agents outlive their daemon, but not with its socket in their hands.
TEST(Daemon, WhoAsksADeadOneIsToldSoAtOnce) {
  Up up;
  up.end(SIGKILL);
  live::HttpClient client(live::socket_of(up.store()));
  const std::int64_t begin = monotonic_ns();
  EXPECT_FALSE(client.ask("GET", "/v1/status", "", 20).ok());
  EXPECT_LT(monotonic_ns() - begin, 10'000'000'000);
  up.start();  // its agents end with the next one
}

TEST(Daemon, ADrainedNodeGetsNoNewWork) {
  Up up;
  ASSERT_EQ(up.weft("nodes drain node-0").code, 0);
  ASSERT_TRUE(
      wait_until([&] { return up.ask("GET", "/v1/nodes")["nodes"][0]["drained"] == true; }));
  for (int i = 0; i < 3; ++i) up.submit("job" + std::to_string(i), "sleep 0.3");
  ASSERT_TRUE(up.comes_to("job2", "finished"));
  EXPECT_THAT(up.weft("events").out, testing::Not(HasSubstr("starts on node-0")));
  up.end(SIGKILL);
  up.start();
  EXPECT_EQ(up.ask("GET", "/v1/nodes")["nodes"][0]["drained"], true) << "also after a restart";
  EXPECT_EQ(up.weft("nodes undrain node-0").code, 0);
  ASSERT_TRUE(
      wait_until([&] { return up.ask("GET", "/v1/nodes")["nodes"][0]["in_service"] == true; }));
}

// A controller that was stopped and comes to again finds another in its place, and does nothing.
TEST(Daemon, AResumedOldControllerCanDoNothing) {
  Up up;
  const std::string job = up.submit("steady", "while [ ! -e go ]; do sleep 0.05; done");
  ASSERT_TRUE(up.comes_to(job, "running"));
  ::kill(up.pid(), SIGSTOP);
  const CommandResult refused = run_weft(up.scratch, "up --cluster 2x2 --store " + up.store());
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("another daemon has this store"));
  // What a controller does first that is started all the same, on another machine.
  ASSERT_TRUE(live::DurableJournal::open(up.store()).ok());
  ::kill(up.pid(), SIGCONT);
  const CommandResult late = up.weft("submit " + up.scratch.write("late.yaml", "run: \"true\"\n"));
  EXPECT_NE(late.code, 0) << late.out;
  EXPECT_TRUE(wait_until([&] { return !lives(up.pid()); }));
  EXPECT_THAT(slurp(up.scratch.path("up.err")), HasSubstr("has taken over"));
  up.end(SIGKILL);
  up.start();
  EXPECT_EQ(up.ask("GET", "/v1/status").at("term"), 3);
  EXPECT_EQ(up.ask("GET", "/v1/jobs?all=1").at("jobs").size(), 1u) << "the late one was refused";
  up.scratch.write("go", "");
  EXPECT_TRUE(up.comes_to(job, "finished"));
}

TEST(Daemon, WrongRequestsAreRefusedAndChangeNothing) {
  Up up;
  const Json before = up.ask("GET", "/v1/status").at("jobs");
  struct Case {
    const char *method, *target, *body;
    int status;
  };
  const std::string deep(20'000, '[');
  const Case cases[] = {
      {"POST", "/v1/jobs", "", 400},
      {"POST", "/v1/jobs", "{", 400},
      {"POST", "/v1/jobs", "[]", 400},
      {"POST", "/v1/jobs", "{\"spec\": 3}", 400},
      {"POST", "/v1/jobs", "{\"spec\": {\"v\": 1}}", 400},
      {"POST", "/v1/jobs", "{\"spec\": {\"v\": 99, \"name\": \"a\", \"run\": \"true\"}}", 400},
      {"POST", "/v1/jobs", "{\"spec\": {\"v\": 1, \"name\": \"a\", \"run\": \"true\", \"x\": 1}}",
       400},
      {"POST", "/v1/jobs",
       "{\"spec\": {\"v\": 1, \"name\": \"a\", \"run\": \"true\", \"num_nodes\": 100}}", 400},
      {"POST", "/v1/jobs", deep.c_str(), 400},
      {"POST", "/v1/jobs",
       "{\"spec\": {\"v\": 1, \"name\": \"a\", \"run\": \"true\"}, \"dry_run\": \"yes\"}", 400},
      {"PUT", "/v1/jobs", "{}", 405},
      {"GET", "/v1/jobs/nobody", "", 404},
      {"POST", "/v1/jobs/nobody/cancel", "", 404},
      {"GET", "/v1/jobs/../../etc/passwd", "", 404},
      {"POST", "/v1/nodes/node-9/drain", "", 404},
      {"POST", "/v1/nodes/node-0/burn", "", 404},
      {"GET", "/", "", 404},
      {"GET", "/v2/jobs", "", 404},
      {"GET", "//////", "", 404},
      {"DELETE", "/v1/status", "", 405},
      {"GET", "/v1/jobs/", "", 404},
      {"GET", "/v1//jobs", "", 404},
      {"GET", "/v1/jobs?al=1", "", 400},
      {"GET", "/v1/jobs?all=1&all=1", "", 400},
      {"GET", "/v1/events?after=-1", "", 400},
      {"GET", "/v1/%zz", "", 400},
      {"GET", "/v1/%00", "", 400},
      {"GET", "/v1/status", "x", 413},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.method) + " " + c.target);
    up.ask(c.method, c.target, c.body);
    EXPECT_EQ(up.status, c.status);
  }
  up.ask("POST", "/v1/jobs", std::string(5 << 20, ' '));
  EXPECT_EQ(up.status, 413);
  EXPECT_EQ(up.ask("GET", "/v1/status").at("jobs"), before);
  EXPECT_THAT(up.weft("submit " + up.scratch.write("x.yaml", "nmae: x\n")).err, HasSubstr("nmae"));
}

}  // namespace
}  // namespace weft

// Preemption by freezing with a real daemon, agents and ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/stopwatch.h"
#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr double kGraceS = 10;
constexpr const char* kFreeze = "checkpoint: {preempt: freeze, signal: USR1, grace: 10s}\n";

// Writes its process, epoch and a number that grows, line by line; a request for a checkpoint ends
// it and is noted.
constexpr const char* kCounter =
    "trap 'echo saved >>saved; exit 0' USR1; n=0; while :; do n=$((n+1)); "
    "echo $$ $WEFT_JOB_EPOCH $n >>counts; sleep 0.02; done";

struct Count {
  pid_t process = 0;
  int epoch = 0, number = 0;
};

class Freeze : public testing::Test {
 protected:
  explicit Freeze(const std::string& cluster = "1x1")
      : up_({"--cluster", cluster, "--policy", "priority"}) {}

  std::vector<Count> counts() const {
    std::istringstream in(slurp(up_.scratch.path("counts")));
    std::vector<Count> all;
    for (Count c; in >> c.process >> c.epoch >> c.number;) all.push_back(c);
    return all;
  }
  // One process counted all the time, each number once.
  void expect_one_count() const {
    const auto all = counts();
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i].process, all[0].process) << i;
      ASSERT_EQ(all[i].number, static_cast<int>(i) + 1);
    }
  }
  bool counts_on() {
    const std::size_t now = counts().size();
    return wait_until([&] { return counts().size() > now + 3; });
  }
  std::string urgent(const std::string& name, const std::string& run, int nodes = 1) {
    return up_.submit(name, run, "priority: 9\nnum_nodes: " + std::to_string(nodes) + "\n");
  }
  std::string why(const std::string& job) {
    return up_.ask("GET", "/v1/jobs/" + job).value("why", "");
  }
  // A counter that is frozen because of `winner`, which runs until the file `go` is there.
  std::string frozen(std::string& winner, int nodes = 1) {
    const std::string job = up_.submit("low", kCounter, kFreeze);
    EXPECT_TRUE(wait_until([&] { return counts().size() > 5; })) << up_.weft("events").out;
    const std::int64_t from_ns = monotonic_ns();
    winner = urgent("high", "while [ ! -e go ]; do sleep 0.02; done", nodes);
    EXPECT_TRUE(up_.comes_to(winner, "running")) << up_.weft("events").out;
    EXPECT_LT(1e-9 * static_cast<double>(monotonic_ns() - from_ns), kGraceS) << "no grace passed";
    EXPECT_THAT(why(job), HasSubstr("frozen on "));
    return job;
  }

  Up up_;
};

class FreezeOnTwoNodes : public Freeze {
 protected:
  FreezeOnTwoNodes() : Freeze("2x1") {}
};

TEST_F(Freeze, AJobGoesOnInTheSameProcessWhereItWas) {
  std::string winner;
  const std::string job = frozen(winner);
  EXPECT_EQ(up_.state(job), "queued");
  EXPECT_THAT(up_.weft("jobs").out, HasSubstr("frozen on "));
  const std::size_t before = counts().size();
  const std::string other = up_.submit("other", "true", "priority: 5\n");
  EXPECT_EQ(up_.state(other), "queued") << "so the daemon has decided once more";
  EXPECT_EQ(counts().size(), before) << "it stands still";
  up_.scratch.write("go", "");
  EXPECT_TRUE(up_.comes_to(other, "finished"));
  EXPECT_TRUE(up_.comes_to(job, "running"));
  EXPECT_TRUE(counts_on());
  expect_one_count();
  const Json view = up_.ask("GET", "/v1/jobs/" + job);
  EXPECT_GE(view["epoch"], 2);
  EXPECT_THAT(up_.weft("events").out, HasSubstr("low frozen on "));
  // Again, also by another daemon.
  up_.end(SIGKILL);
  up_.start();
  std::remove(up_.scratch.path("go").c_str());
  const std::string second = urgent("again", "while [ ! -e go ]; do sleep 0.02; done");
  EXPECT_TRUE(up_.comes_to(second, "running"));
  up_.scratch.write("go", "");
  EXPECT_TRUE(up_.comes_to(job, "running"));
  EXPECT_TRUE(counts_on());
  expect_one_count();
  EXPECT_EQ(slurp(up_.scratch.path("saved")), "");
  EXPECT_EQ(up_.weft("cancel low").code, 0);
  EXPECT_TRUE(wait_until([&] { return !lives(counts()[0].process); }));
  EXPECT_EQ(slurp(up_.scratch.path("saved")), "saved\n");
  EXPECT_EQ(up_.weft("replay").code, 0) << up_.weft("replay").out;
}

TEST_F(Freeze, FrozenRanksOutliveTheDaemon) {
  std::string winner;
  const std::string job = frozen(winner);
  const std::size_t before = counts().size();
  up_.end(SIGKILL);
  up_.start();
  EXPECT_EQ(counts().size(), before);
  EXPECT_TRUE(lives(counts()[0].process));
  EXPECT_THAT(why(job), HasSubstr("frozen on "));
  up_.scratch.write("go", "");
  EXPECT_TRUE(up_.comes_to(job, "running"));
  EXPECT_TRUE(counts_on());
  expect_one_count();
}

TEST_F(Freeze, ACancelledJobsFrozenRanksAreToldToSaveAndEnd) {
  std::string winner;
  const std::string job = frozen(winner);
  EXPECT_EQ(up_.weft("cancel low").code, 0);
  EXPECT_TRUE(wait_until([&] { return !lives(counts()[0].process); }));
  EXPECT_EQ(slurp(up_.scratch.path("saved")), "saved\n");
  EXPECT_EQ(up_.state(winner), "running");
  EXPECT_EQ(up_.state(job), "cancelled");
}

TEST_F(Freeze, RanksThatDieWhileFrozenStartAnew) {
  std::string winner;
  const std::string job = frozen(winner);
  const pid_t process = counts()[0].process;
  // Its keeper dies, and the agent sweeps what is left.
  const std::string name = up_.ask("GET", "/v1/nodes")["nodes"][0]["node"];
  const std::string claim = slurp(up_.store() + "/nodes/" + name + "/claims/" + job + ".1.0");
  const Json keeper = Json::parse(claim, nullptr, false);
  ASSERT_TRUE(keeper.is_object()) << claim;
  kill(keeper.at("keeper").get<pid_t>(), SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !lives(process); }));
  EXPECT_TRUE(wait_until([&] { return why(job).find("frozen") == std::string::npos; }));
  EXPECT_THAT(up_.weft("events").out, HasSubstr("low is no longer frozen: "));
  up_.scratch.write("go", "");
  EXPECT_TRUE(up_.comes_to(job, "running"));
  EXPECT_TRUE(wait_until([&] { return counts().back().process != process; }));
  EXPECT_EQ(counts().back().epoch, 2);
}

TEST_F(FreezeOnTwoNodes, ElsewhereItStartsAnewAfterItsCheckpoint) {
  std::string winner;
  const std::string job = frozen(winner, 2);
  const pid_t process = counts()[0].process;
  const std::string node = why(job).substr(std::string("frozen on ").size());
  EXPECT_EQ(up_.weft("nodes drain " + node).code, 0);
  EXPECT_TRUE(wait_until([&] { return slurp(up_.scratch.path("saved")) == "saved\n"; }));
  EXPECT_TRUE(wait_until([&] { return !lives(process); }));
  up_.scratch.write("go", "");
  EXPECT_TRUE(up_.comes_to(job, "running"));
  EXPECT_TRUE(wait_until([&] { return counts().back().process != process; }));
  EXPECT_EQ(counts().back().epoch, 2);
  EXPECT_NE(up_.ask("GET", "/v1/jobs/" + job)["nodes"][0], node);
  EXPECT_EQ(up_.weft("replay").code, 0) << up_.weft("replay").out;
}

// A node that is taken by somebody else while the job is frozen there.
TEST_F(FreezeOnTwoNodes, AJobThatMovesNeverOverlapsItself) {
  std::string winner;
  const std::string job = frozen(winner, 2);
  const std::string node = why(job).substr(std::string("frozen on ").size());
  const std::string stays = urgent("stays", "while [ ! -e gone ]; do sleep 0.02; done");
  up_.scratch.write("go", "");
  EXPECT_TRUE(up_.comes_to(stays, "running"));
  EXPECT_TRUE(up_.comes_to(job, "running"));
  EXPECT_TRUE(counts_on());
  const auto all = counts();
  if (up_.ask("GET", "/v1/jobs/" + job)["nodes"][0] == node) {
    expect_one_count();
    return;
  }
  // The first process had ended before the second wrote its first line.
  EXPECT_EQ(slurp(up_.scratch.path("saved")), "saved\n");
  bool moved = false;
  for (const Count& count : all) {
    moved = moved || count.epoch == 2;
    EXPECT_EQ(count.epoch, moved ? 2 : 1);
  }
  EXPECT_FALSE(lives(all[0].process));
}

}  // namespace
}  // namespace weft

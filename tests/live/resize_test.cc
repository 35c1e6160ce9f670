// Jobs that are resized in place, with a real daemon, agents and ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/stopwatch.h"
#include "tests/live/up_testing.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

// One device each before anybody has two; what idles is given away every second.
constexpr const char* kPolicy =
    "name: quick\nallocate: {part: choose, value: afs, round: 1}\nplace: displace-least\n";

struct Line {
  pid_t process = 0;
  int rank = 0, size = 0, step = 0, epoch = 0;
};

class Resize : public testing::Test {
 protected:
  explicit Resize(const std::string& cluster = "1x2")
      : policy_(folder_.write("quick.yaml", kPolicy)),
        up_({"--cluster", cluster, "--policy", policy_}) {}

  // One to `most` workers that count in the file `lines`.
  std::string count(const std::string& resize, int most = 2, const std::string& more = "") {
    return up_.submit("count", std::string("exec ") + WEFT_MEMBER_PROGRAM + " lines end",
                      "min_workers: 1\nmax_workers: " + std::to_string(most) +
                          "\nresize: " + resize + "\ncheckpoint: {grace: 10s}\n" + more);
  }
  // Holds a device until the file of its name is gone.
  std::string block(const std::string& name) {
    up_.scratch.write(name, "");
    return up_.submit(name, "while [ -e " + name + " ]; do sleep 0.02; done",
                      "checkpoint: {grace: 1s}\npreemptible: false\n");
  }
  void unblock(const std::string& name) { std::filesystem::remove(up_.scratch.path(name)); }

  std::vector<Line> lines() const {
    std::istringstream in(slurp(up_.scratch.path("lines")));
    std::vector<Line> all;
    for (Line l; in >> l.process >> l.rank >> l.size >> l.step >> l.epoch;) all.push_back(l);
    return all;
  }
  // So many ranks make steps together, from now on; gives who they are.
  std::set<pid_t> counting(int size) {
    const std::size_t from = lines().size();
    std::set<pid_t> processes;
    const bool came = wait_until([&] {
      const auto all = lines();
      if (all.empty() || all.back().size != size) return false;
      processes.clear();
      int seen = 0;
      for (std::size_t i = all.size(); i > from && seen < 4 * size; --i, ++seen) {
        if (all[i - 1].size != size) return false;
        processes.insert(all[i - 1].process);
      }
      return seen == 4 * size && static_cast<int>(processes.size()) == size;
    });
    EXPECT_TRUE(came) << "no " << size << " ranks count\n"
                      << up_.weft("events").out << up_.weft("logs count --rank 0").out;
    return came ? processes : std::set<pid_t>{};
  }
  // A job that counts with one rank beside one that holds the other device.
  std::pair<std::string, std::set<pid_t>> count_beside(const std::string& name) {
    EXPECT_TRUE(up_.comes_to(block(name), "running"));
    const std::string job = count("in_place");
    return {job, counting(1)};
  }
  // Nobody began anew, and no step was counted twice by one process.
  void expect_one_epoch() {
    std::map<pid_t, int> last;
    for (const Line& line : lines()) {
      ASSERT_EQ(line.epoch, 1);
      ASSERT_GT(line.step, last[line.process]);
      last[line.process] = line.step;
    }
    EXPECT_EQ(up_.ask("GET", "/v1/jobs/count").value("epoch", 0), 1);
  }
  bool is_said(const std::string& words) {
    return wait_until([&] { return up_.weft("events").out.find(words) != std::string::npos; });
  }
  // Processes of this test's agents that serve a place to meet.
  int meetings() const {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string words = slurp(entry.path() / "cmdline");
      if (words.find(std::string("agent\0meet\0", 11)) == std::string::npos) continue;
      found += slurp(entry.path() / "environ").find(up_.store()) != std::string::npos;
    }
    return found;
  }
  void expect_replay() {
    const CommandResult replayed = up_.weft("replay");
    EXPECT_EQ(replayed.code, 0) << replayed.out;
  }

  Scratch folder_;
  std::string policy_;
  Up up_;
};

TEST_F(Resize, AJobGrowsAndShrinksWhileItsRanksGoOn) {
  const auto [job, one] = count_beside("other");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(meetings(), 1);
  unblock("other");
  const std::set<pid_t> two = counting(2);
  EXPECT_TRUE(two.contains(*one.begin())) << "who was there is there";
  EXPECT_TRUE(is_said("count is resized to 2 devices"));
  EXPECT_EQ(up_.ask("GET", "/v1/jobs/" + job)["restarts"], 0);
  // Shrinks again: whoever leaves is asked to, and ends by itself.
  const std::string next = block("next");
  ASSERT_TRUE(up_.comes_to(next, "running")) << up_.weft("events").out;
  const std::set<pid_t> left = counting(1);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(two.contains(*left.begin()));
  for (const pid_t process : two) EXPECT_EQ(lives(process), left.contains(process));
  expect_one_epoch();
  // All of it ends well together.
  up_.scratch.write("end", "");
  EXPECT_TRUE(up_.comes_to(job, "finished")) << up_.weft("events").out;
  EXPECT_TRUE(wait_until([&] { return meetings() == 0; }));
  unblock("next");
  EXPECT_TRUE(up_.comes_to(next, "finished"));
  expect_replay();
}

TEST_F(Resize, AJobWithoutTheWordForItIsRestarted) {
  const std::string blocker = block("other");
  ASSERT_TRUE(up_.comes_to(blocker, "running"));
  const std::string job = up_.submit(
      "plain", "echo $$ $WORLD_SIZE $WEFT_JOB_EPOCH >>runs; trap 'exit 0' TERM; sleep 1000 & wait",
      "min_workers: 1\nmax_workers: 2\ncheckpoint: {grace: 2s}\n");
  ASSERT_TRUE(up_.comes_to(job, "running"));
  unblock("other");
  EXPECT_TRUE(wait_until([&] {
    return slurp(up_.scratch.path("runs")).find(" 2 2\n") != std::string::npos;
  })) << up_.weft("events").out;
  EXPECT_THAT(up_.weft("events").out, Not(HasSubstr("resized")));
  EXPECT_EQ(up_.weft("cancel plain").code, 0);
  expect_replay();
}

TEST_F(Resize, ARankThatDiesIsReplacedAlone) {
  const std::string job = count("in_place");
  const std::set<pid_t> two = counting(2);
  ASSERT_EQ(two.size(), 2u);
  const pid_t dies = *two.begin(), stays = *two.rbegin();
  ASSERT_EQ(::kill(dies, SIGKILL), 0);
  EXPECT_TRUE(wait_until([&] { return !lives(dies); }));
  const std::set<pid_t> again = counting(2);
  EXPECT_TRUE(again.contains(stays));
  EXPECT_FALSE(again.contains(dies));
  EXPECT_TRUE(is_said("was ended by signal 9; another takes its place"));
  EXPECT_EQ(up_.state(job), "running");
  expect_one_epoch();
  EXPECT_EQ(
      run_weft(up_.scratch, "exec count --rank 1 --store " + up_.store() + " -- printenv RANK").out,
      "1\n");
  expect_replay();
}

TEST_F(Resize, ADaemonThatIsKilledInTheMiddleIsFollowedByOneThatEndsTheChange) {
  const auto [job, one] = count_beside("other");
  ASSERT_EQ(one.size(), 1u);
  unblock("other");
  ASSERT_TRUE(is_said("count is being resized"));
  up_.end(SIGKILL);
  up_.start();
  EXPECT_TRUE(is_said("count is resized to 2 devices"));
  ASSERT_EQ(counting(2).size(), 2u);
  // And one that is killed while a rank leaves.
  const std::string next = block("next");
  ASSERT_TRUE(wait_until([&] {
    const std::string said = up_.weft("events").out;
    return said.find("being resized") != said.rfind("being resized");
  }));
  up_.end(SIGKILL);
  up_.start();
  ASSERT_TRUE(up_.comes_to(next, "running")) << up_.weft("events").out;
  EXPECT_TRUE(is_said("count is resized to 1 devices"));
  EXPECT_EQ(counting(1).size(), 1u);
  expect_one_epoch();
  EXPECT_EQ(up_.state(job), "running");
  expect_replay();
}

TEST_F(Resize, ACancelledJobLeavesNothingBehindAlsoInTheMiddle) {
  const auto [job, one] = count_beside("other");
  ASSERT_EQ(one.size(), 1u);
  unblock("other");
  ASSERT_TRUE(is_said("count is being resized"));
  EXPECT_EQ(up_.weft("cancel count").code, 0);
  EXPECT_TRUE(up_.comes_to(job, "cancelled"));
  EXPECT_TRUE(wait_until([&] {
    for (const Line& line : lines()) {
      if (lives(line.process)) return false;
    }
    return meetings() == 0;
  })) << up_.weft("events").out;
  // The devices are free again.
  const std::string after = up_.submit("after", "true", "num_nodes: 2\n");
  EXPECT_TRUE(up_.comes_to(after, "finished")) << up_.weft("events").out;
  expect_replay();
}

TEST_F(Resize, AJobWhoseMeetingIsGoneGoesOnAndIsRestartedToGrow) {
  const auto [job, one] = count_beside("other");
  ASSERT_EQ(one.size(), 1u);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string words = slurp(entry.path() / "cmdline");
    if (words.find(std::string("agent\0meet\0", 11)) == std::string::npos) continue;
    if (slurp(entry.path() / "environ").find(up_.store()) == std::string::npos) continue;
    ::kill(std::atoi(entry.path().filename().c_str()), SIGKILL);
  }
  ASSERT_TRUE(is_said("the next change restarts it"));
  EXPECT_EQ(counting(1), one) << "it goes on";
  unblock("other");
  const std::set<pid_t> two = counting(2);
  EXPECT_FALSE(two.contains(*one.begin()));
  EXPECT_EQ(lines().back().epoch, 2);
  EXPECT_EQ(up_.state(job), "running");
  expect_replay();
}

class ResizeOnTwoNodes : public Resize {
 protected:
  ResizeOnTwoNodes() : Resize("2x1") {}
  void fence(std::size_t node) {
    const std::string name = up_.ask("GET", "/v1/nodes")["nodes"][node]["node"];
    EXPECT_EQ(up_.weft("nodes fence " + name).code, 0);
  }
};

// The fenced agent finds its way back and ends what it has; then the job grows again.
TEST_F(ResizeOnTwoNodes, ALostNodeTakesItsRanksAlone) {
  const std::string job = count("in_place", 2, "on_controller_loss: stop\n");
  const std::set<pid_t> two = counting(2);
  ASSERT_EQ(two.size(), 2u);
  fence(1);
  ASSERT_TRUE(is_said("count lost ranks"));
  const auto joined = [&](const Line& line) { return !two.contains(line.process); };
  ASSERT_TRUE(wait_until([&] {
    const auto all = lines();
    return std::any_of(all.begin(), all.end(), joined);
  })) << up_.weft("events").out;
  const std::set<pid_t> again = counting(2);
  // Which rank was on which node is not said: numbers are given as ranks come.
  EXPECT_EQ(std::count_if(two.begin(), two.end(), [&](pid_t p) { return again.contains(p); }), 1)
      << "the other goes on";
  EXPECT_EQ(up_.ask("GET", "/v1/jobs/" + job)["restarts"], 0) << up_.weft("events").out;
  expect_one_epoch();
  expect_replay();
}

TEST_F(ResizeOnTwoNodes, WithoutTheFirstNodeAllOfItIsRestarted) {
  const std::string job = count("in_place", 2, "on_controller_loss: stop\n");
  ASSERT_EQ(counting(2).size(), 2u);
  fence(0);
  EXPECT_TRUE(wait_until([&] { return lines().back().epoch >= 2; })) << up_.weft("events").out;
  // It may be under way to both nodes again, by another restart: the first is a new one then.
  EXPECT_TRUE(up_.comes_to(job, "running")) << up_.weft("events").out;
  expect_replay();
}

TEST_F(ResizeOnTwoNodes, RanksComeAndGoOnOtherNodes) {
  const std::string job = count("in_place");
  const std::set<pid_t> two = counting(2);
  ASSERT_EQ(two.size(), 2u);
  const std::string other = block("other");
  ASSERT_TRUE(up_.comes_to(other, "running")) << up_.weft("events").out;
  const std::set<pid_t> one = counting(1);
  ASSERT_EQ(one.size(), 1u);
  unblock("other");
  const std::set<pid_t> again = counting(2);
  EXPECT_TRUE(again.contains(*one.begin()));
  expect_one_epoch();
  EXPECT_EQ(up_.weft("cancel count").code, 0);
  EXPECT_TRUE(up_.comes_to(job, "cancelled"));
  expect_replay();
}

}  // namespace
}  // namespace weft

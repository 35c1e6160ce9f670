// A daemon that dies and comes back while jobs run: what runs goes on where it is, whatever the
// policy and however long the agents take to find the daemon again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>

#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Notes every process it begins as, and that it was asked to end.
constexpr const char* kSteadyWithPids =
    "trap 'echo stopped >>stops; exit 0' TERM; echo $$ >>pids; "
    "while :; do sleep 0.05; done";
constexpr double kRoundS = 1;  // of policies that decide in rounds

struct RestartCase {
  const char* what;
  const char* policy;  // a name, or a composition
  const char* quotas;  // a file's text, or nothing
  const char* jobs;    // what a and b have beyond their commands
};

const RestartCase kCases[] = {
    {"sizes chosen by goodput", "name: quick\nallocate: {part: choose, value: sia, round: 1}\n", "",
     "min_workers: 1\nmax_workers: 2\n"},
    {"sizes in one pool", "name: quick\nallocate: {part: choose, value: pollux, round: 1}\n", "",
     "min_workers: 1\nmax_workers: 2\n"},
    {"least attained service", "2d-las", "", "num_nodes: 2\n"},
    {"guaranteed shares", "quota", "queues: {one: {share: 1}, two: {share: 1}}\n",
     "num_nodes: 2\nqueue: one\n"},
};

class Restart : public testing::TestWithParam<RestartCase> {
 protected:
  static std::vector<std::string> options(Scratch& files, const RestartCase& c) {
    std::string policy = c.policy;
    if (policy.find('\n') != std::string::npos) policy = files.write("policy.yaml", policy);
    std::vector<std::string> words = {"--policy", policy};
    if (*c.quotas != 0) {
      words.insert(words.end(), {"--quotas", files.write("quotas.yaml", c.quotas)});
    }
    return words;
  }
};

// By job: the epoch of its run and the devices that it holds.
std::map<std::string, std::pair<int, int>> holdings(Up& up) {
  std::map<std::string, std::pair<int, int>> all;
  const Json answer = up.ask("GET", "/v1/jobs");
  for (const Json& job : answer.at("jobs")) {
    all[job.at("name")] = {job.at("epoch"), job.at("devices")};
  }
  return all;
}

bool passes(Up& up, double seconds) {
  const double from = up.ask("GET", "/v1/jobs").at("now_s");
  return wait_until([&] {
    const Json answer = up.ask("GET", "/v1/jobs");
    return answer.is_object() && answer.at("now_s").get<double>() > from + seconds;
  });
}

// What jobs have noted of their processes.
std::string notes(const Up& up) {
  std::string all;
  for (const char* file : {"pids", "stops"}) all += slurp(up.scratch.path(file)) + "\n";
  return all;
}

// Until some rounds change nothing any more.
bool settles(Up& up) {
  return wait_until([&] {
    const auto before = holdings(up);
    const auto runs = [&](const char* job) {
      return before.contains(job) && before.at(job).second > 0;
    };
    return runs("a") && runs("b") && passes(up, 2.5 * kRoundS) && holdings(up) == before;
  });
}

TEST_P(Restart, LeavesEverythingThatRunsWhereItIs) {
  const RestartCase& c = GetParam();
  Scratch files;
  Up up(options(files, c));
  up.submit("a", kSteadyWithPids, c.jobs);
  up.submit("b", kSteadyWithPids, c.jobs);
  ASSERT_TRUE(settles(up)) << up.weft("jobs").out << up.weft("events").out;
  const auto before = holdings(up);
  const std::string noted = notes(up);
  for (int again = 0; again < 2; ++again) {
    up.end(SIGKILL);
    up.start();
    ASSERT_TRUE(passes(up, 2.5 * kRoundS));
    EXPECT_EQ(holdings(up), before) << up.weft("events").out;
    EXPECT_EQ(notes(up), noted) << up.weft("events").out;
  }
  EXPECT_THAT(up.weft("events").out, Not(HasSubstr("takes no new work: nothing heard")));
  const CommandResult replayed = up.weft("replay");
  EXPECT_EQ(replayed.code, 0) << replayed.out << replayed.err;
}

INSTANTIATE_TEST_SUITE_P(Policies, Restart, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<RestartCase>& chosen) {
                           std::string name = chosen.param.what;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

// Nodes keep what they were for a lease after a restart, and no longer.
TEST(RestartNodes, ANodeWhoseAgentStaysAwayTakesNoNewWork) {
  Up up;
  const std::string job = up.submit("a", kSteadyWithPids, "num_nodes: 4\n");
  ASSERT_TRUE(up.comes_to(job, "running"));
  const pid_t agent = std::stoi("0" + slurp(up.store() + "/nodes/node-1/pid"));
  ASSERT_GT(agent, 1);
  up.end(SIGKILL);
  ::kill(agent, SIGSTOP);
  up.start(false);
  const auto in_service = [&] { return up.ask("GET", "/v1/nodes")["nodes"][1]["in_service"]; };
  EXPECT_EQ(in_service(), true) << "its agent may come yet";
  EXPECT_TRUE(wait_until([&] { return in_service() == false; }));
  EXPECT_THAT(up.weft("events").out, HasSubstr("node node-1 takes no new work: nothing heard"));
  EXPECT_EQ(up.state(job), "running") << "nobody knows that it does not";
  ::kill(agent, SIGCONT);
  EXPECT_TRUE(wait_until([&] { return in_service() == true; }));
}

// Agents are not silent because the daemon did not listen.
TEST(RestartNodes, ADaemonThatWasHeldUpStopsNothing) {
  Scratch files;
  const RestartCase& c = kCases[0];
  Up up({"--policy", files.write("policy.yaml", c.policy)});
  up.submit("a", kSteadyWithPids, c.jobs);
  up.submit("b", kSteadyWithPids, c.jobs);
  ASSERT_TRUE(settles(up)) << up.weft("events").out;
  const auto before = holdings(up);
  const std::string noted = notes(up);
  ::kill(up.pid(), SIGSTOP);
  const std::int64_t until = monotonic_ns() + 4'000'000'000;  // twice the lease
  EXPECT_TRUE(wait_until([&] { return monotonic_ns() > until; }));
  ::kill(up.pid(), SIGCONT);
  ASSERT_TRUE(passes(up, 2.5 * kRoundS));
  EXPECT_EQ(holdings(up), before) << up.weft("events").out;
  EXPECT_THAT(up.weft("events").out, Not(HasSubstr("nothing heard")));
  EXPECT_EQ(notes(up), noted);
}

}  // namespace
}  // namespace weft

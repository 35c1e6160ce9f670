#include "runtime/launch/launcher.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>

namespace weft::runtime {
namespace {

// "start 1 as 5 join e1 w2", "SIG15 3"; what is said is left out.
std::string commands_in_words(const std::vector<LaunchCommand>& commands) {
  std::string text;
  for (const LaunchCommand& command : commands) {
    if (const auto* start = std::get_if<StartRank>(&command)) {
      text += fmt::format("start {} as {}{} e{} w{}; ", start->rank, start->member,
                          start->join ? " join" : "", start->epoch, start->world);
    } else if (const auto* signal = std::get_if<SignalMember>(&command)) {
      text += fmt::format("SIG{} {}; ", signal->signal, signal->member);
    }
  }
  return text;
}

using Act = std::function<void(Launcher&)>;
Act exits(MemberId member, int code, Seconds at) {
  return [=](Launcher& l) { l.exited(member, code, at); };
}
Act signal_of(int number, Seconds at) {
  return [=](Launcher& l) { l.signalled(number, at); };
}
Act timer(Seconds at) {
  return [=](Launcher& l) {
    EXPECT_EQ(l.wake_at(), at);
    l.woken(at);
  };
}
Act says_joined(MemberId member) {
  return [=](Launcher& l) { l.joined(member); };
}

struct LaunchStep {
  Act act;
  std::string want;
};

struct LaunchRow {
  const char* why;
  LaunchRules rules;
  std::vector<LaunchStep> steps;  // after "begin"
  int exit_code = -1;             // -1: still running
  int failed = -1;                // member whose log is shown
};

const LaunchRules kTwo{.ranks = 2, .grace_s = 5};
const LaunchRules kTwoTwice{.ranks = 2, .max_restarts = 1, .grace_s = 5};
const LaunchRules kElastic{.ranks = 2, .least = 1, .most = 3, .max_restarts = 2, .grace_s = 5};
const LaunchRules kStrict{.ranks = 2, .least = 2, .most = 2, .max_restarts = 2, .grace_s = 5};

std::vector<LaunchRow> fixed_size_table() {
  return {
      {"all end well", kTwo, {{exits(1, 0, 1), ""}, {exits(0, 0, 2), ""}}, 0, -1},
      {"one rank still runs", kTwo, {{exits(1, 0, 1), ""}}, -1, -1},
      {"a failure ends the others, and its code is ours",
       kTwo,
       {{exits(1, 3, 1), "SIG15 0; "}, {exits(0, 143, 2), ""}},
       3,
       1},
      {"a rank that ignores SIGTERM is killed after the grace time",
       kTwo,
       {{exits(0, 139, 1), "SIG15 1; "}, {timer(6), "SIG9 1; "}, {exits(1, 137, 6), ""}},
       139,
       0},
      {"the first failure counts, not the ones it causes",
       kTwo,
       {{exits(1, 3, 1), "SIG15 0; "}, {exits(0, 1, 1), ""}},
       3,
       1},
      {"a restart takes all ranks to the next epoch under new members",
       kTwoTwice,
       {{exits(1, 3, 1), "SIG15 0; "},
        {exits(0, 143, 2), "start 0 as 2 e2 w2; start 1 as 3 e2 w2; "},
        {exits(2, 0, 3), ""},
        {exits(3, 0, 3), ""}},
       0,
       -1},
      {"restarts are counted",
       kTwoTwice,
       {{exits(1, 3, 1), "SIG15 0; "},
        {exits(0, 143, 2), "start 0 as 2 e2 w2; start 1 as 3 e2 w2; "},
        {exits(2, 7, 3), "SIG15 3; "},
        {exits(3, 0, 3), ""}},
       7,
       2},
      {"a restart waits for ranks that take their time",
       kTwoTwice,
       {{exits(1, 3, 1), "SIG15 0; "}, {timer(6), "SIG9 0; "}},
       -1,
       -1},
  };
}

std::vector<LaunchRow> signal_table() {
  return {
      {"SIGUSR1 goes to all", kTwo, {{signal_of(SIGUSR1, 1), "SIG10 0; SIG10 1; "}}, -1, -1},
      {"SIGTERM: leave; ranks that end well make a good end",
       kTwo,
       {{signal_of(SIGTERM, 1), "SIG15 0; SIG15 1; "}, {exits(0, 0, 2), ""}, {exits(1, 0, 2), ""}},
       0,
       -1},
      {"ranks that die of our own SIGTERM are no failure to be explained",
       kTwo,
       {{signal_of(SIGTERM, 1), "SIG15 0; SIG15 1; "},
        {exits(0, 143, 2), ""},
        {exits(1, 0, 2), ""}},
       143,
       -1},
      {"a rank whose checkpoint fails is",
       kTwo,
       {{signal_of(SIGINT, 1), "SIG15 0; SIG15 1; "}, {exits(0, 1, 2), ""}, {exits(1, 0, 2), ""}},
       1,
       0},
      {"a second SIGINT kills at once",
       kTwo,
       {{signal_of(SIGINT, 1), "SIG15 0; SIG15 1; "},
        {signal_of(SIGINT, 2), "SIG9 0; SIG9 1; "},
        {exits(0, 137, 2), ""},
        {exits(1, 137, 2), ""}},
       137,
       -1},
      {"a second SIGTERM does not",
       kTwo,
       {{signal_of(SIGTERM, 1), "SIG15 0; SIG15 1; "}, {signal_of(SIGTERM, 2), ""}},
       -1,
       -1},
      {"who is asked to leave does not start again",
       kTwoTwice,
       {{exits(1, 3, 1), "SIG15 0; "}, {signal_of(SIGINT, 2), ""}, {exits(0, 143, 2), ""}},
       3,
       1},
      {"no checkpoint is asked of ranks that are leaving",
       kTwo,
       {{signal_of(SIGTERM, 1), "SIG15 0; SIG15 1; "}, {signal_of(SIGUSR1, 2), ""}},
       -1,
       -1},
      {"asked to leave while the only rank waits for its replacement",
       {.ranks = 1, .least = 1, .most = 1, .max_restarts = 2, .grace_s = 5},
       {{exits(0, 1, 1), "start 0 as 1 e2 w1; "},
        {exits(1, 1, 2), ""},
        {signal_of(SIGTERM, 2.1), ""}},
       143,
       -1},
  };
}

std::vector<LaunchRow> elastic_table() {
  return {
      {"a failed rank is replaced at once by a new member under its rank",
       kElastic,
       {{exits(0, 137, 1), "start 0 as 2 join e1 w2; "},
        {exits(1, 0, 9), ""},
        {exits(2, 0, 9), ""}},
       0,
       -1},
      {"replacements that fail in a row wait longer and longer, but not for ever",
       kElastic,
       {{exits(1, 1, 1), "start 1 as 2 join e1 w2; "},
        {exits(2, 1, 2), ""},
        {timer(2.25), "start 1 as 3 join e1 w2; "},
        {exits(3, 1, 3), ""},
        {timer(3.5), "start 1 as 4 join e1 w2; "},
        {exits(4, 1, 4), ""},
        {timer(5), "start 1 as 5 join e1 w2; "}},
       -1,
       -1},
      {"one that had joined begins a new row",
       kElastic,
       {{exits(1, 137, 1), "start 1 as 2 join e1 w2; "},
        {says_joined(2), ""},
        {exits(2, 137, 2), "start 1 as 3 join e1 w2; "},
        {says_joined(3), ""},
        {exits(3, 137, 3), "start 1 as 4 join e1 w2; "}},
       -1,
       -1},
      {"so does one that ran for long without a word",
       kElastic,
       {{exits(1, 137, 1), "start 1 as 2 join e1 w2; "},
        {exits(2, 137, 1 + kSettledAfter_s), "start 1 as 3 join e1 w2; "}},
       -1,
       -1},
  };
}

std::vector<LaunchRow> elastic_end_table() {
  return {
      {"below the least, replacements that fail too often end the job",
       kStrict,
       {{exits(1, 4, 1), "start 1 as 2 join e1 w2; "},
        {exits(2, 5, 2), ""},
        {timer(2.25), "start 1 as 3 join e1 w2; "},
        {exits(3, 6, 3), "SIG15 0; "},
        {exits(0, 143, 3), ""}},
       6,
       3},
      {"when nobody is left who has the state, all start again in the next epoch",
       kElastic,
       {{exits(0, 137, 1), "start 0 as 2 join e1 w2; "},
        {exits(1, 137, 1), "SIG15 2; "},
        {exits(2, 143, 2), "start 0 as 3 e2 w2; start 1 as 4 e2 w2; "}},
       -1,
       -1},
      {"a job that never gets going ends, whichever rank fails first each time",
       kElastic,
       {{exits(0, 1, 1), "start 0 as 2 join e1 w2; "},
        {exits(1, 1, 1), "SIG15 2; "},
        {exits(2, 143, 1), "start 0 as 3 e2 w2; start 1 as 4 e2 w2; "},
        {exits(4, 1, 2), "SIG15 3; "},
        {exits(3, 143, 2), ""},
        {timer(2.25), "start 0 as 5 e3 w2; start 1 as 6 e3 w2; "},
        {exits(5, 8, 3), "SIG15 6; "},
        {exits(6, 143, 3), ""}},
       8,
       5},
      {"a joiner that has the state keeps the job alive",
       kElastic,
       {{exits(0, 137, 1), "start 0 as 2 join e1 w2; "},
        {says_joined(2), ""},
        {exits(1, 137, 2), "start 1 as 3 join e1 w2; "}},
       -1,
       -1},
      {"after a good end nobody is replaced; enough good ends are a good end",
       kElastic,
       {{exits(0, 0, 1), ""}, {exits(1, 1, 1), ""}},
       0,
       -1},
      {"too few good ends are not", kStrict, {{exits(0, 0, 1), ""}, {exits(1, 9, 1), ""}}, 9, 1},
      {"SIGUSR2 adds ranks up to the most",
       kElastic,
       {{signal_of(SIGUSR2, 1), "start 2 as 2 join e1 w3; "}, {signal_of(SIGUSR2, 2), ""}},
       -1,
       -1},
      {"a rank that was never started fails the job in the end",
       {.ranks = 1, .least = 1, .most = 1, .max_restarts = 1, .grace_s = 5},
       {{exits(0, 126, 0), "start 0 as 1 e2 w1; "}, {exits(1, 126, 0), ""}},
       126,
       1},
  };
}

void check(const std::vector<LaunchRow>& table) {
  for (const LaunchRow& row : table) {
    SCOPED_TRACE(row.why);
    Launcher launcher(row.rules);
    launcher.begin(0);
    launcher.take_commands();
    for (std::size_t i = 0; i < row.steps.size(); ++i) {
      SCOPED_TRACE(fmt::format("step {}", i));
      ASSERT_FALSE(launcher.verdict().has_value());
      row.steps[i].act(launcher);
      EXPECT_EQ(commands_in_words(launcher.take_commands()), row.steps[i].want);
    }
    ASSERT_EQ(launcher.verdict().has_value(), row.exit_code >= 0);
    if (row.exit_code < 0) continue;
    EXPECT_EQ(launcher.verdict()->exit_code, row.exit_code) << launcher.verdict()->why;
    EXPECT_EQ(launcher.verdict()->failed.has_value(), row.failed >= 0);
    if (row.failed >= 0) {
      EXPECT_EQ(static_cast<int>(launcher.verdict()->failed.value_or(99)), row.failed);
    }
  }
}

TEST(Launcher, RunsJobsOfFixedSize) { check(fixed_size_table()); }
TEST(Launcher, ObeysSignals) { check(signal_table()); }
TEST(Launcher, ReplacesRanksOfElasticJobs) { check(elastic_table()); }
TEST(Launcher, EndsElasticJobs) { check(elastic_end_table()); }

TEST(Launcher, SaysWhichRankFailedTheJob) {
  Launcher launcher(kStrict);
  launcher.begin(0);
  launcher.exited(1, 4, 1);
  launcher.exited(2, 4, 2);
  launcher.woken(launcher.wake_at());
  launcher.exited(3, 6, 3);
  launcher.exited(0, 0, 3);
  ASSERT_TRUE(launcher.verdict().has_value());
  EXPECT_EQ(launcher.verdict()->why,
            "rank 1 (member 3) ended with exit code 6; it failed 3 times in a row (at most 2 "
            "replacements may fail) and 1 of at least 2 ranks are well");
}

TEST(Launcher, NamesEnds) {
  EXPECT_EQ(name_of_end(3), "exit code 3");
  EXPECT_EQ(name_of_end(137), "SIGKILL");
  EXPECT_EQ(name_of_end(255), "exit code 255");
}

}  // namespace
}  // namespace weft::runtime

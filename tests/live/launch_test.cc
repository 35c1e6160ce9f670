// `weft launch` with real processes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/child.h"
#include "tests/live/launch_testing.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

std::map<std::string, std::string> variables_in(const std::string& text) {
  std::map<std::string, std::string> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) result[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return result;
}

TEST(LiveLaunch, EveryRankGetsItsEnvironment) {
  Launch launch({"-n", "3", "--env", "EXTRA=a b"},
                "env >$T/env.$RANK; stat -c 'MODE=%a' $WEFT_SECRET_FILE >>$T/env.$RANK; "
                "stat -c 'FOLDER=%a' $(dirname $WEFT_SECRET_FILE) >>$T/env.$RANK");
  ASSERT_EQ(launch.wait(), 0) << launch.err();
  std::set<std::string> same;
  for (int rank = 0; rank < 3; ++rank) {
    SCOPED_TRACE(rank);
    auto got = variables_in(slurp(launch.scratch.path("env." + std::to_string(rank))));
    const std::string r = std::to_string(rank);
    for (const auto& [name, want] : std::map<std::string, std::string>{
             {"RANK", r},
             {"LOCAL_RANK", r},
             {"WORLD_SIZE", "3"},
             {"LOCAL_WORLD_SIZE", "3"},
             {"GROUP_RANK", "0"},
             {"GROUP_WORLD_SIZE", "1"},
             {"MASTER_ADDR", "127.0.0.1"},
             {"TORCHELASTIC_RESTART_COUNT", "0"},
             {"TORCHELASTIC_MAX_RESTARTS", "0"},
             {"OMP_NUM_THREADS", "1"},
             {"WEFT_JOB_EPOCH", "1"},
             {"WEFT_MEMBER", r},
             {"EXTRA", "a b"},
             {"MODE", "600"},
             {"FOLDER", "700"},
         }) {
      EXPECT_EQ(got[name], want) << name;
    }
    EXPECT_EQ(got.count("WEFT_JOIN") + got.count("WEFT_ELASTIC"), 0u);
    EXPECT_EQ(got["WEFT_JOB"].size(), 36u);
    EXPECT_EQ(got["WEFT_JOB"], got["TORCHELASTIC_RUN_ID"]);
    EXPECT_FALSE(std::filesystem::exists(got["WEFT_SECRET_FILE"]));
    EXPECT_FALSE(std::filesystem::exists(got["WEFT_LOG_DIR"])) << "all ended well";
    same.insert(got["MASTER_PORT"] + got["WEFT_JOB"] + got["WEFT_STORE"]);
  }
  EXPECT_EQ(same.size(), 1u);
  EXPECT_THAT(launch.err(), HasSubstr("OMP_NUM_THREADS is set to 1"));
}

TEST(LiveLaunch, LinesArriveWholeWithTheirRank) {
  Launch launch({"-n", "2"}, "printf half; sleep 0.1; echo ' a line'; echo no >&2; printf end");
  ASSERT_EQ(launch.wait(), 0);
  for (const char* rank : {"[rank 0] ", "[rank 1] "}) {
    EXPECT_THAT(launch.out(), HasSubstr(rank + std::string("half a line\n")));
    EXPECT_THAT(launch.out(), HasSubstr(rank + std::string("end\n")));
    EXPECT_THAT(launch.err(), HasSubstr(rank + std::string("no\n")));
  }
  Launch plain({"-n", "1", "--no-prefix"}, {"echo", "-n", "--", "--json"}, 0);
  ASSERT_EQ(plain.wait(), 0);
  EXPECT_EQ(plain.out(), "-- --json\n");
  Launch dashed({"-n", "1", "--no-prefix", "--"}, {"echo", "--", "x"}, 0);
  ASSERT_EQ(dashed.wait(), 0);
  EXPECT_EQ(dashed.out(), "-- x\n");
}

TEST(LiveLaunch, TheFirstFailureIsShownWithItsLastLines) {
  Launch launch(
      {"-n", "3"},
      "if [ $RANK = 1 ]; then for i in $(seq 25); do echo line $i >&2; done; exit 3; fi; " +
          await("never"));
  EXPECT_EQ(launch.wait(), 3);
  const std::string err = launch.err();
  EXPECT_THAT(err, HasSubstr("rank 1 failed first: exit code 3 after"));
  EXPECT_THAT(err, HasSubstr("  | line 6\n"));
  EXPECT_THAT(err, HasSubstr("  | line 25\n"));
  EXPECT_THAT(err, Not(HasSubstr("  | line 5\n")));
  EXPECT_THAT(err, HasSubstr("rank 0: SIGTERM, rank 2: SIGTERM"));
  const std::size_t at = err.find("  log: ") + 7;
  const std::string log = err.substr(at, err.find('\n', at) - at);
  EXPECT_THAT(slurp(log), HasSubstr("line 1\n"));
  for (const int member : {0, 1, 2}) EXPECT_FALSE(lives(launch.pid(member)));
  const std::string folder = std::filesystem::path(log).parent_path().string();
  EXPECT_FALSE(std::filesystem::exists(folder + "/secret"));
}

TEST(LiveLaunch, AJobStartsAgainUnderTheNextEpoch) {
  Launch launch({"-n", "2", "--max-restarts", "1", "--json"},
                "echo epoch $WEFT_JOB_EPOCH restart $TORCHELASTIC_RESTART_COUNT member "
                "$WEFT_MEMBER; [ $WEFT_JOB_EPOCH = 2 ] && exit 0; [ $RANK = 0 ] && exit 9; " +
                    await("never"));
  EXPECT_EQ(launch.wait(), 0) << launch.err();
  EXPECT_THAT(launch.err(), HasSubstr("epoch 2 restart 1 member 3"));
  const auto report = nlohmann::json::parse(launch.out());
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["exit_code"], 0);
  ASSERT_EQ(report["members"].size(), 4u);
  EXPECT_EQ(report["members"][0]["exit_code"], 9);
  EXPECT_EQ(report["members"][3]["epoch"], 2);
}

TEST(LiveLaunch, AnElasticJobReplacesAKilledRank) {
  Launch launch({"-n", "3", "--elastic", "2:3", "--json"},
                "echo rank $RANK join ${WEFT_JOIN:-0} range $WEFT_ELASTIC; " + await("done"));
  for (const int member : {0, 1, 2}) launch.wait_for_member(member);
  kill(launch.pid(1), SIGKILL);
  launch.wait_for_member(3);
  kill(launch.pid(0), SIGKILL);  // rank 0 is a rank like others
  launch.wait_for_member(4);
  EXPECT_TRUE(lives(launch.pid(2)));
  launch.touch("done");
  EXPECT_EQ(launch.wait(), 0) << launch.err();
  EXPECT_THAT(launch.err(), HasSubstr("[rank 1] rank 1 join 1 range 2:3"));
  const auto report = nlohmann::json::parse(launch.out());
  ASSERT_EQ(report["members"].size(), 5u);
  EXPECT_EQ(report["members"][1]["exit_code"], 137);
  EXPECT_EQ(report["members"][3]["rank"], 1);
  EXPECT_EQ(report["members"][3]["joined"], true);
  EXPECT_EQ(report["members"][4]["rank"], 0);
}

TEST(LiveLaunch, AnElasticJobThatCannotGoOnSaysWhichRankFailed) {
  Launch launch({"-n", "2", "--elastic", "2:2", "--max-restarts", "1"},
                "[ $RANK = 1 ] && { echo broken >&2; exit 7; }; " + await("never"));
  EXPECT_EQ(launch.wait(), 7);
  EXPECT_THAT(launch.err(), HasSubstr("rank 1 failed first: exit code 7"));
  EXPECT_THAT(launch.err(), HasSubstr("  | broken\n"));
  EXPECT_THAT(launch.err(), HasSubstr("it failed 2 times in a row (at most 1 replacements may "
                                      "fail) and 1 of at least 2 ranks are well"));
}

TEST(LiveLaunch, ARankCanBeAdded) {
  Launch launch({"-n", "1", "--elastic", "1:2"},
                "echo rank $RANK of $WORLD_SIZE; " + await("done"));
  launch.wait_for_member(0);
  launch.signal(SIGUSR2);
  launch.wait_for_member(1);
  launch.touch("done");
  EXPECT_EQ(launch.wait(), 0);
  EXPECT_THAT(launch.out(), HasSubstr("[rank 1] rank 1 of 2"));
}

TEST(LiveLaunch, KillingTheLauncherLeavesTheRanksRunning) {
  Scratch logs;
  Launch launch({"-n", "2", "--log-dir", logs.path("")},
                "i=0; while :; do i=$((i+1)); echo $i; echo $i >&2; sleep 0.01; done");
  for (const int member : {0, 1}) launch.wait_for_member(member);
  launch.signal(SIGKILL);
  EXPECT_EQ(launch.wait(), 137);
  for (const std::string rank : {"0", "1"}) {
    for (const std::string end : {".out", ".err"}) {
      const std::string log = logs.path("rank-" + rank + ".member-" + rank + end);
      const std::size_t before = slurp(log).size();
      EXPECT_TRUE(wait_until([&] { return slurp(log).size() > before + 30; })) << log;
    }
    EXPECT_TRUE(lives(launch.pid(rank == "0" ? 0 : 1)));
  }
}

TEST(LiveLaunch, LeavingHasAGraceTime) {
  Launch launch({"-n", "2", "--grace", "0.5"},
                "if [ $RANK = 0 ]; then trap 'echo saved; exit 0' TERM; else trap '' TERM; fi; "
                "touch $T/ready.$RANK; while :; do sleep 0.02; done");
  ASSERT_TRUE(wait_until([&] {
    return std::filesystem::exists(launch.scratch.path("ready.0")) &&
           std::filesystem::exists(launch.scratch.path("ready.1"));
  }));
  launch.signal(SIGTERM);
  EXPECT_EQ(launch.wait(), 137);
  EXPECT_THAT(launch.out(), HasSubstr("[rank 0] saved\n"));
  EXPECT_THAT(launch.err(), HasSubstr("1 of the ranks did not leave within 0.5 s"));
  EXPECT_THAT(launch.err(), Not(HasSubstr("failed first")));
  for (const int member : {0, 1}) EXPECT_FALSE(lives(launch.pid(member)));
}

TEST(LiveLaunch, ARankBehindAShellLeavesInTheGraceTimeToo) {
  // The shell dies of the signal at once; what it ran is asked then and saves its state.
  Launch launch({"-n", "1", "--grace", "20"},
                "sh -c 'trap \"echo saved; exit 0\" TERM; touch $T/ready; "
                "while :; do sleep 0.02; done'; true");
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(launch.scratch.path("ready")); }));
  launch.signal(SIGTERM);
  EXPECT_EQ(launch.wait(), 143);
  EXPECT_THAT(launch.out(), HasSubstr("saved"));
}

TEST(LiveLaunch, ACheckpointIsAskedOfEveryRankAndTheSecondInterruptKills) {
  Launch launch({"-n", "2"},
                "trap 'echo checkpoint' USR1; trap '' TERM INT; touch $T/ready.$RANK; "
                "while :; do sleep 0.02; done");
  ASSERT_TRUE(wait_until([&] {
    return std::filesystem::exists(launch.scratch.path("ready.0")) &&
           std::filesystem::exists(launch.scratch.path("ready.1"));
  }));
  launch.signal(SIGUSR1);
  EXPECT_TRUE(wait_until([&] {
    return launch.out().find("[rank 0] checkpoint\n") != std::string::npos &&
           launch.out().find("[rank 1] checkpoint\n") != std::string::npos;
  })) << launch.out();
  launch.signal(SIGINT);
  launch.signal(SIGUSR1);  // both seen before the next
  EXPECT_TRUE(lives(launch.pid(0)));
  EXPECT_TRUE(wait_until([&] {
    launch.signal(SIGINT);
    return !lives(launch.pid(0)) && !lives(launch.pid(1));
  }));
  EXPECT_EQ(launch.wait(), 137);
}

TEST(LiveLaunch, OutputThatNobodyReadsStopsNobody) {
  const Scratch scratch;
  const auto end = run_child({"/bin/sh", "-c",
                              std::string(WEFT_BINARY) + " launch -n 1 sh -c 'seq 100000; touch " +
                                  scratch.path("through") + "' | head -n 1"},
                             kDeadline_s);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->out, "[rank 0] 1\n");
  EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(scratch.path("through")); }));
}

TEST(LiveLaunch, HelpersOfAFailedRankGoWithIt) {
  Launch launch({"-n", "1"},
                "sh -c 'echo $$ >$T/helper; exec sleep 60' & " + await("helper") + "exit 4");
  EXPECT_EQ(launch.wait(), 4);
  const pid_t helper = std::atoi(slurp(launch.scratch.path("helper")).c_str());
  ASSERT_GT(helper, 0);
  EXPECT_FALSE(lives(helper));
}

}  // namespace
}  // namespace weft

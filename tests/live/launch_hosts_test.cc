// `weft launch` across hosts, bad use, the store, and scripts written for torchrun.
#include <gmock/gmock.h>

#include "runtime/launch/launcher.h"
#include "runtime/launch/run_folder.h"
#include "runtime/net/store.h"
#include "tests/live/launch_testing.h"

namespace weft {
namespace {

using testing::HasSubstr;

// `env` in place of ssh: the remote side is a shell of this machine that knows where it is.
TEST(LiveLaunchHosts, RanksRunWhereTheFileSays) {
  const Scratch files;
  const std::string hosts = files.write("hosts", "localhost\nbeta slots=2 address=127.0.0.1\n");
  Launch launch({"-n", "3", "--hosts", hosts, "--via", "env VIA={host}", "--address", "127.0.0.1",
                 "--env", "QUOTED=it's $HOME"},
                "echo on ${VIA:-here} local $LOCAL_RANK of $LOCAL_WORLD_SIZE group $GROUP_RANK of "
                "$GROUP_WORLD_SIZE omp $OMP_NUM_THREADS \"$QUOTED\"; "
                "wc -c <$WEFT_SECRET_FILE; echo leaks: $(grep -lFf $WEFT_SECRET_FILE "
                "/proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null); "
                "echo $WEFT_SECRET_FILE >$T/secret.$RANK");
  ASSERT_EQ(launch.wait(), 0) << launch.err();
  const std::string out = launch.out();
  EXPECT_THAT(out, HasSubstr("[rank 0] on here local 0 of 1 group 0 of 2 omp 1 it's $HOME\n"));
  EXPECT_THAT(out, HasSubstr("[rank 1] on beta local 0 of 2 group 1 of 2 omp 1 it's $HOME\n"));
  EXPECT_THAT(out, HasSubstr("[rank 2] on beta local 1 of 2 group 1 of 2 omp 1 it's $HOME\n"));
  for (const std::string rank : {"0", "1", "2"}) {
    EXPECT_THAT(out, HasSubstr("[rank " + rank + "] 65\n"));
    EXPECT_THAT(out, HasSubstr("[rank " + rank + "] leaks:\n"));
    std::string secret = slurp(launch.scratch.path("secret." + rank));
    ASSERT_FALSE(secret.empty());
    secret.pop_back();
    EXPECT_TRUE(wait_until([&] { return !std::filesystem::exists(secret); })) << secret;
  }
}

TEST(LiveLaunchHosts, TakesTheNumbersThatTorchrunTakes) {
  const Scratch files;
  const std::string hosts =
      files.write("hosts", "localhost\nbeta address=127.0.0.1\ngamma address=127.0.0.1\n");
  const std::string say = "echo on ${VIA:-here} rank $RANK of $WORLD_SIZE";
  Launch alone({"--nproc_per_node", "2"}, say);
  ASSERT_EQ(alone.wait(), 0) << alone.err();
  EXPECT_THAT(alone.out(), HasSubstr("on here rank 1 of 2\n"));
  Launch launch({"--nproc-per-node", "2", "--nnodes", "2", "--hosts", hosts, "--via",
                 "env VIA={host}", "--address", "127.0.0.1"},
                say);
  ASSERT_EQ(launch.wait(), 0) << launch.err();
  EXPECT_THAT(launch.out(), HasSubstr("on here rank 1 of 4\n"));
  EXPECT_THAT(launch.out(), HasSubstr("on beta rank 3 of 4\n"));
}

TEST(LiveLaunchHosts, SignalsAndKillsReachOtherHosts) {
  const Scratch files;
  const std::string hosts = files.write("hosts", "alpha slots=2\n");
  Launch launch(
      {"-n", "2", "--hosts", hosts, "--via", "env VIA={host}", "--address", "127.0.0.1", "--grace",
       "0.5"},
      "trap 'echo checkpoint' USR1; if [ $RANK = 0 ]; then trap 'echo left; exit 0' TERM; "
      "else trap '' TERM; fi; touch $T/ready.$RANK; while :; do sleep 0.02; done");
  ASSERT_TRUE(wait_until([&] {
    return std::filesystem::exists(launch.scratch.path("ready.0")) &&
           std::filesystem::exists(launch.scratch.path("ready.1"));
  })) << launch.err();
  launch.signal(SIGUSR1);
  EXPECT_TRUE(
      wait_until([&] { return launch.out().find("[rank 1] checkpoint\n") != std::string::npos; }));
  launch.signal(SIGTERM);
  EXPECT_EQ(launch.wait(), 137);
  EXPECT_THAT(launch.out(), HasSubstr("[rank 0] left\n"));
  for (const int member : {0, 1}) EXPECT_FALSE(lives(launch.pid(member)));
}

TEST(LiveLaunchHosts, KillingTheLauncherLeavesRemoteRanksRunning) {
  const Scratch files;
  const std::string hosts = files.write("hosts", "alpha\n");
  Launch launch({"-n", "1", "--hosts", hosts, "--via", "env VIA={host}", "--address", "127.0.0.1",
                 "--log-dir", files.path("logs")},
                "while :; do echo on; sleep 0.01; done");
  const pid_t rank = launch.wait_for_member(0);
  launch.signal(SIGKILL);
  EXPECT_EQ(launch.wait(), 137);
  const std::string log = files.path("logs/rank-0.member-0.out");
  const std::size_t before = slurp(log).size();
  EXPECT_TRUE(wait_until([&] { return slurp(log).size() > before + 30; }));
  EXPECT_TRUE(lives(rank));
}

struct BadUse {
  const char* why;
  std::string words;
  std::string says;
};

TEST(LiveLaunchHosts, BadUseIsToldBeforeAnythingStarts) {
  const Scratch scratch;
  const std::string mark = scratch.path("started");
  const std::string hosts = scratch.write("hosts", "localhost slots=2\n");
  const std::string broken = scratch.write("broken", "localhost slots=none\n");
  const std::string away = scratch.write("away", "localhost\nfaraway\n");
  const std::string touch = " touch " + mark;
  const std::vector<BadUse> table = {
      {"no rank", "-n 0" + touch, "'0' is not a whole number from 1"},
      {"how many is not said", touch, "nothing says how many ranks to start"},
      {"how many is said twice", "-n 2 --nproc-per-node 2" + touch, "--ranks"},
      {"nodes without ranks", "--nnodes 2" + touch, "--nproc-per-node"},
      {"nodes without hosts", "--nproc-per-node 2 --nnodes 2" + touch,
       "--nnodes 2 needs --hosts with 2 hosts"},
      {"more nodes than hosts", "--nproc-per-node 1 --nnodes 2 --hosts " + hosts + touch,
       "has 1 hosts, but --nnodes is 2"},
      {"no command", "-n 1", "there is no command to run"},
      {"a command nobody has", "-n 1 no-such-program-here", "is not found in PATH"},
      {"an option nobody has", "-n 1 --ranka 3" + touch, "there is no option '--ranka'"},
      {"the least above the most", "-n 2 --elastic 3:2" + touch, "3, is above the most, 2"},
      {"a start outside the range", "-n 5 --elastic 1:4" + touch,
       "-n 5 lies outside --elastic 1:4"},
      {"half a range", "-n 1 --elastic 3" + touch, "'3' is not MIN:MAX"},
      {"too few slots", "-n 3 --hosts " + hosts + touch, "offers 2 slots, but -n 3 needs 3"},
      {"too few slots to grow into", "-n 2 --elastic 1:9 --hosts " + hosts + touch,
       "offers 2 slots, but --elastic 1:9 needs 9"},
      {"a broken file of hosts", "-n 1 --hosts " + broken + touch, "broken:1: slots is 'none'"},
      {"no file of hosts", "-n 1 --hosts " + scratch.path("none") + touch, "none"},
      {"a host out of reach", "-n 2 --via false --hosts " + away + touch,
       "host faraway cannot be reached"},
      {"a variable of ours", "-n 1 --env RANK=3" + touch, "--env sets RANK"},
      {"logs that cannot be kept", "-n 1 --log-dir /proc/none" + touch, "--log-dir /proc/none"},
  };
  for (const BadUse& row : table) {
    SCOPED_TRACE(row.why);
    const CommandResult result = run_weft(scratch, "launch " + row.words);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr(row.says));
    EXPECT_FALSE(std::filesystem::exists(mark));
  }
}

TEST(LiveLaunchHosts, ServesTheStoreToWhoeverKnowsTheSecret) {
  const auto port = runtime::free_port();
  ASSERT_TRUE(port.ok());
  Launch launch({"-n", "1", "--port", std::to_string(*port)},
                "cp $WEFT_SECRET_FILE $T/secret; echo $WEFT_STORE >$T/store.new; "
                "mv $T/store.new $T/store; " +
                    await("done"));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(launch.scratch.path("store")); }));
  std::string address = slurp(launch.scratch.path("store"));
  address.pop_back();
  EXPECT_EQ(address, "127.0.0.1:" + std::to_string(*port));
  const auto secret = runtime::Secret::from_file(launch.scratch.path("secret"));
  ASSERT_TRUE(secret.ok()) << secret.error().text();
  auto client = runtime::StoreClient::connect(address, *secret, kDeadline_s);
  ASSERT_TRUE(client.ok()) << client.error().text();
  EXPECT_TRUE((*client)->set("key", "value", kDeadline_s).ok());
  EXPECT_EQ(*(*client)->get("key", kDeadline_s), "value");

  const Scratch scratch;
  const CommandResult taken =
      run_weft(scratch, "launch -n 1 --port " + std::to_string(*port) + " true");
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.err, HasSubstr(std::to_string(*port)));
  launch.touch("done");
  EXPECT_EQ(launch.wait(), 0) << launch.err();
}

TEST(LiveLaunchHosts, AJoinerThatSaysSoHasTheState) {
  Launch launch(
      {"-n", "2", "--elastic", "1:2"},
      "cp $WEFT_SECRET_FILE $T/secret.$WEFT_MEMBER; echo $WEFT_STORE >$T/store.$WEFT_MEMBER; " +
          await("done"));
  for (const int member : {0, 1}) launch.wait_for_member(member);
  kill(launch.pid(0), SIGKILL);
  launch.wait_for_member(2);
  ASSERT_TRUE(wait_until(
      [&] { return slurp(launch.scratch.path("store.2")).find('\n') != std::string::npos; }));
  std::string address = slurp(launch.scratch.path("store.2"));
  address.pop_back();
  const auto secret = runtime::Secret::from_file(launch.scratch.path("secret.2"));
  ASSERT_TRUE(secret.ok()) << secret.error().text();
  auto client = runtime::StoreClient::connect(address, *secret, kDeadline_s);
  ASSERT_TRUE(client.ok()) << client.error().text();
  ASSERT_TRUE((*client)->set(runtime::joined_key(2), "1", kDeadline_s).ok());
  kill(launch.pid(1), SIGKILL);
  launch.wait_for_member(3);
  EXPECT_TRUE(lives(launch.pid(2))) << "member 2 has the state, so nobody starts again";
  EXPECT_THAT(launch.err(), testing::Not(HasSubstr("start again")));
  launch.touch("done");
  EXPECT_EQ(launch.wait(), 0) << launch.err();
}

TEST(LiveLaunchHosts, AScriptForTorchrunRunsUnchanged) {
  constexpr const char* kPython = "/usr/bin/python3";
  if (std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") != 0) {
    GTEST_SKIP() << "no torch on this machine (python3-torch)";
  }
  const Scratch files;
  const std::string script = files.write("script.py",
                                         "import os, torch, torch.distributed as dist\n"
                                         "dist.init_process_group('gloo')\n"
                                         "x = torch.full((3,), float(dist.get_rank() + 1))\n"
                                         "dist.all_reduce(x)\n"
                                         "print('rank', os.environ['RANK'], 'sum', x.tolist())\n"
                                         "dist.destroy_process_group()\n");
  Launch launch({"-n", "2"}, {kPython, script}, 0);
  EXPECT_EQ(launch.wait(), 0) << launch.err();
  EXPECT_THAT(launch.out(), HasSubstr("[rank 0] rank 0 sum [3.0, 3.0, 3.0]\n"));
  EXPECT_THAT(launch.out(), HasSubstr("[rank 1] rank 1 sum [3.0, 3.0, 3.0]\n"));
}

}  // namespace
}  // namespace weft

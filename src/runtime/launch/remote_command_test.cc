#include "runtime/launch/remote_command.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"

namespace weft::runtime {
namespace {

const std::vector<std::string> kHostile = {
    "",
    "plain",
    "two words",
    "it's",
    "''",
    "$(touch /tmp/weft-hostile) `id` $HOME",
    "a\nb\n",
    "\\n \\' \"double\"",
    "; rm -rf / && false | cat > x < y & # no",
    "*?[a-z]{1,2}~!",
    "-n",
    "\xc3\xbc \x01\x7f\xff",
};

std::string shell(const std::string& script) {
  const auto end = run_child({"/bin/sh", "-c", script}, 10);
  EXPECT_TRUE(end.ok() && end->code == 0);
  return end.ok() ? end->out : "";
}

TEST(RemoteCommand, QuotesWhateverAWordHolds) {
  for (const std::string& word : kHostile) {
    EXPECT_EQ(shell("printf '<%s>' " + shell_quoted(word)), "<" + word + ">");
  }
}

// As ssh does it: a shell gets the last word as a line.
TEST(RemoteCommand, ASshLineReachesTheInnerShellUnchanged) {
  for (const std::string& word : kHostile) {
    const std::vector<std::string> words =
        over(ssh_to("node"), "printf '<%s>' " + shell_quoted(word));
    EXPECT_EQ(words[words.size() - 2], "node");
    EXPECT_EQ(words[words.size() - 3], "--");
    EXPECT_EQ(shell(words.back()), "<" + word + ">");
  }
}

TEST(RemoteCommand, AViaKeepsItsWordsApart) {
  EXPECT_THAT(via_to("ip netns  exec {host}", "h 1;x").words,
              testing::ElementsAre("ip", "netns", "exec", "h 1;x"));
  EXPECT_THAT(over(via_to("run --on={host}:{host}", "{host}"), "true"),
              testing::ElementsAre("run", "--on={host}:{host}", "sh", "-c", "true"));
  EXPECT_THAT(
      over(via_to("/usr/bin/ssh -p 22 {host}", "h"), "echo 'a b'"),
      testing::ElementsAre("/usr/bin/ssh", "-p", "22", "h", "exec sh -c 'echo '\\''a b'\\'''"));
}

TEST(RemoteCommand, AScriptRunsTheRankWithItsVariablesAndSecret) {
  Variables variables;
  std::string want;
  for (std::size_t i = 0; i < kHostile.size(); ++i) {
    variables.emplace_back("V" + std::to_string(i), kHostile[i]);
    want += "<" + kHostile[i] + ">";
  }
  const std::string inner = [&] {
    std::string text = "printf '<%s>'";
    for (std::size_t i = 0; i < kHostile.size(); ++i) text += " \"$V" + std::to_string(i) + "\"";
    return text +
           "; cat \"$WEFT_SECRET_FILE\"; stat -c %a \"$WEFT_SECRET_FILE\"; pwd; "
           "echo $DEFAULT $PATH_KEPT; exit 7";
  }();
  const std::string script =
      rank_script({{"DEFAULT", "1"}}, variables, "/usr", {"sh", "-c", inner});
  EXPECT_EQ(script.find("0123abcd"), std::string::npos);
  const auto end =
      run_child({"/bin/sh", "-c", "echo 0123abcd | sh -c " + shell_quoted(script)}, 20);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->out, want + "0123abcd\n600\n/usr\n1\n");
  EXPECT_EQ(end->code, 7);
}

TEST(RemoteCommand, AScriptPassesOnSignals) {
  // The rank says that it is ready, which lets the next line of the input be written.
  const std::string rank =
      "trap 'echo saved' USR1; trap 'echo left; exit 3' TERM; echo ready >&2; "
      "while :; do sleep 0.05; done";
  const std::string script = rank_script({}, {}, "/", {"sh", "-c", rank});
  const std::string feeder =
      "d=$(mktemp -d); mkfifo $d/in $d/up; sh -c " + shell_quoted(script) +
      " <$d/in 2>$d/up & exec 4>$d/in 5<$d/up; echo secret >&4; read -r line <&5; "
      "echo USR1 >&4; echo TERM >&4; wait $!; c=$?; rm -r $d; exit $c";
  const auto end = run_child({"/bin/sh", "-c", feeder}, 20);
  ASSERT_TRUE(end.ok());
  EXPECT_FALSE(end->timed_out);
  EXPECT_EQ(end->out, "saved\nleft\n");
  EXPECT_EQ(end->code, 3);
}

TEST(RemoteCommand, HostsThatDoNotAnswerAreNamed) {
  const Status good = check_reachable({{"a", via_to("env", "a")}}, 5);
  EXPECT_TRUE(good.ok());
  const std::string silent = fmt::format("/tmp/weft-silent-{}", getpid());
  ASSERT_EQ(mkfifo(silent.c_str(), 0600), 0);  // whoever opens it waits
  const Status bad = check_reachable({{"a", via_to("env", "a")},
                                      {"b", via_to("false", "b")},
                                      {"c", via_to("no-such-program-here", "c")},
                                      {"d", via_to("cat -- " + silent, "d")}},
                                     0.3);
  unlink(silent.c_str());
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().what.find("host a"), std::string::npos);
  EXPECT_NE(bad.error().what.find("host b cannot be reached: false ended with exit code 1"),
            std::string::npos);
  EXPECT_NE(bad.error().what.find("host c: command 'no-such-program-here' is not found"),
            std::string::npos);
  EXPECT_NE(bad.error().what.find("host d did not answer within 0.3 s"), std::string::npos);
}

}  // namespace
}  // namespace weft::runtime

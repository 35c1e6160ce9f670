// `weft exec` and `weft attach` against a running daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "base/base64.h"
#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Of a daemon whose job `long` runs on one device.
class Exec : public testing::Test {
 protected:
  Exec() {
    EXPECT_TRUE(up.comes_to(
        up.submit("long", "echo $$ >pid; exec sleep 1000", "envs: {FLAVOUR: sweet}\n"), "running"));
  }
  // `options` before the words of the command; `input` as a shell redirects it.
  CommandResult exec(const std::string& words, const std::string& options = "",
                     const std::string& input = "</dev/null") {
    const std::string out = up.scratch.path("exec.out"), err = up.scratch.path("exec.err");
    const std::string line = std::string(WEFT_BINARY) + " exec long --store " + up.store() + " " +
                             options + " -- " + words + " " + input + " >" + out + " 2>" + err;
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
  }
  runtime::ChildProcess start(const std::vector<std::string>& command) {
    std::vector<std::string> words = {WEFT_BINARY, "exec", "long", "--store", up.store(), "--"};
    words.insert(words.end(), command.begin(), command.end());
    auto started = runtime::ChildProcess::start(
        {WEFT_BINARY, words, runtime::full_environment({}, {}), up.scratch.path("started.out"),
         up.scratch.path("started.err"), std::nullopt});
    EXPECT_TRUE(started.ok());
    return std::move(*started);
  }
  pid_t told(const std::string& name) {
    EXPECT_TRUE(wait_until([&] { return std::atoi(slurp(up.scratch.path(name)).c_str()) > 0; }));
    return std::atoi(slurp(up.scratch.path(name)).c_str());
  }
  static std::string groups(const std::string& pid) { return slurp("/proc/" + pid + "/cgroup"); }

  Up up;
};

TEST_F(Exec, RunsInTheRanksPlace) {
  const CommandResult env = exec("sh -c 'echo $RANK.$WORLD_SIZE.$WEFT_DEVICES.$FLAVOUR; pwd'");
  EXPECT_EQ(env.code, 0) << env.err;
  EXPECT_EQ(env.out, "0.1." + env.out.substr(4, 1) + ".sweet\n" +
                         std::filesystem::path(up.scratch.path("x")).parent_path().string() + "\n");
  const CommandResult group = exec("cat /proc/self/cgroup");
  EXPECT_EQ(group.out, groups(std::to_string(told("pid")))) << "it counts against its share";
  const CommandResult network = exec("readlink /proc/self/ns/net");
  char link[64] = {};
  ASSERT_GT(readlink(("/proc/" + std::to_string(told("pid")) + "/ns/net").c_str(), link, 63), 0);
  EXPECT_EQ(network.out, std::string(link) + "\n");
}

TEST_F(Exec, PassesStreamsAndCodeOn) {
  EXPECT_EQ(exec("sh -c 'kill -9 $$'").code, 128 + 9);
  const std::string words = up.scratch.write("words", "one two\n");
  const CommandResult piped = exec("sh -c 'cat; echo bad >&2; exit 3'", "", "<" + words);
  EXPECT_EQ(piped.code, 3);
  EXPECT_EQ(piped.out, "one two\n");
  EXPECT_EQ(piped.err, "bad\n");
  const CommandResult dashed = exec("echo --rank -- -t --help");
  EXPECT_EQ(dashed.out, "--rank -- -t --help\n") << "words behind -- are the command's";
  const CommandResult none = exec("no-such-program");
  EXPECT_EQ(none.code, 127);
  EXPECT_THAT(none.err, HasSubstr("cannot start 'no-such-program'"));
  const CommandResult timed = exec("sleep 100", "--timeout 0.2");
  EXPECT_EQ(timed.code, 128 + 9);
  EXPECT_THAT(timed.err, HasSubstr("its time of 0.2 s is over"));
}

TEST_F(Exec, CarriesAMegabyteOfAnyBytesUnharmed) {
  std::mt19937 random(7);
  std::string bytes(1 << 20, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const std::string path = up.scratch.write("bytes", bytes);
  const CommandResult result = exec("cat", "", "<" + path);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out.size(), bytes.size());
  EXPECT_TRUE(result.out == bytes);
}

TEST_F(Exec, EndsWhenItsCallerIsInterrupted) {
  runtime::ChildProcess caller = start({"sh", "-c", "echo $$ >first; exec sleep 1000"});
  const pid_t first = told("first");
  caller.signal(SIGINT);
  ASSERT_TRUE(wait_until([&] { return caller.reap().has_value(); }));
  EXPECT_EQ(*caller.reap(), 130);
  EXPECT_FALSE(lives(first));
}

TEST_F(Exec, EndsWhenItsCallerIsGone) {
  runtime::ChildProcess caller = start({"sh", "-c", "echo $$ >first; exec sleep 1000"});
  const pid_t first = told("first");
  caller.signal(SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !lives(first); })) << "nobody reads its output";
}

TEST_F(Exec, EndsWithItsJobAndItsDaemon) {
  runtime::ChildProcess one = start({"sh", "-c", "echo $$ >first; exec sleep 1000"});
  const pid_t first = told("first");
  up.end(SIGTERM);
  EXPECT_TRUE(wait_until([&] { return !lives(first); }));
  ASSERT_TRUE(wait_until([&] { return one.reap().has_value(); }));
  EXPECT_EQ(*one.reap(), 255);
  EXPECT_THAT(slurp(up.scratch.path("started.err")), HasSubstr("weft exec: "));
  up.start();
  runtime::ChildProcess two = start({"sh", "-c", "echo $$ >second; exec sleep 1000"});
  const pid_t second = told("second");
  EXPECT_EQ(up.weft("cancel long").code, 0);
  ASSERT_TRUE(wait_until([&] { return two.reap().has_value(); }));
  EXPECT_EQ(*two.reap(), 128 + 9);
  EXPECT_FALSE(lives(second));
  const CommandResult over = exec("true");
  EXPECT_EQ(over.code, 2);
  EXPECT_THAT(over.err, HasSubstr("long is cancelled, not running"));
}

TEST_F(Exec, IsForTheOwnerAndToldWithoutItsWords) {
  EXPECT_EQ(exec("echo hunter2").code, 0);
  const std::string story = up.weft("events").out;
  EXPECT_THAT(story, HasSubstr("long: exec in rank 0 by "));
  EXPECT_THAT(story, Not(HasSubstr("hunter2")));
  EXPECT_EQ(up.ask("GET", "/v1/jobs/long").at("remark"), "") << "nothing is wrong with it";
  EXPECT_THAT(exec("true", "--rank 7").err, HasSubstr("long has no rank 7; it has 1"));
  EXPECT_THAT(exec("true", "--replica 0").err, HasSubstr("is no service"));
  EXPECT_EQ(run_weft(up.scratch, "exec nobody --store " + up.store() + " -- true").code, 2);
  EXPECT_EQ(up.weft("exec long").code, 2) << "no command";
  EXPECT_EQ(exec("$(printf '\\377')").code, 2) << "no UTF-8";
  const CommandResult attached = up.weft("attach long");
  EXPECT_EQ(attached.code, 2);
  EXPECT_THAT(attached.err, HasSubstr("no terminal"));
}

TEST_F(Exec, HasATerminalOnRequest) {
  int master = -1;
  winsize size = {};
  size.ws_row = 33;
  size.ws_col = 99;
  const pid_t pid = forkpty(&master, nullptr, nullptr, &size);
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    const std::string store = up.store();
    execl(WEFT_BINARY, "weft", "attach", "long", "--store", store.c_str(), nullptr);
    kill(getpid(), SIGKILL);
  }
  std::string seen;
  const auto comes = [&](const std::string& text) {
    return wait_until([&] {
      char buffer[4096];
      pollfd wait = {master, POLLIN, 0};
      if (poll(&wait, 1, 10) > 0) {
        const ssize_t got = read(master, buffer, sizeof buffer);
        if (got > 0) seen.append(buffer, static_cast<std::size_t>(got));
      }
      return seen.find(text) != std::string::npos;
    });
  };
  const auto type = [&](const std::string& text) {
    EXPECT_EQ(write(master, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  type("echo rank-$RANK-$(stty size | tr ' ' x)-$(tty | cut -c1-8)\r");
  EXPECT_TRUE(comes("rank-0-33x99-/dev/pts")) << seen;
  size.ws_row = 44;
  ASSERT_EQ(ioctl(master, TIOCSWINSZ, &size), 0);
  type("while [ \"$(stty size)\" != '44 99' ]; do sleep 0.05; done; echo now-$((40+4))-rows\r");
  EXPECT_TRUE(comes("now-44-rows")) << seen;
  type("sh -c 'echo asleep-$((1+1)); exec sleep 1000'\r");
  EXPECT_TRUE(comes("asleep-2")) << seen;  // before, the key would reach the shell
  type("\x03");
  type("echo still-$((1+1))-here; exit 5\r");
  EXPECT_TRUE(comes("still-2-here")) << seen << "\nthe key for an interrupt is the command's";
  int status = 0;
  ASSERT_TRUE(wait_until([&] { return waitpid(pid, &status, WNOHANG) == pid; }));
  EXPECT_EQ(WEXITSTATUS(status), 5);
  close(master);
}

TEST(ExecBesideReplicas, TakesTheNameOfOne) {
  Up up;
  ASSERT_TRUE(up.comes_to(up.submit("web", "sleep 1000",
                                    "service: {replica_policy: {min_replicas: 1, max_replicas: 2, "
                                    "target_qps_per_replica: 10}}\n"),
                          "running"));
  const std::string name = up.ask("GET", "/v1/jobs/web").at("service").at("replicas")[0].dump();
  const auto exec = [&](const std::string& options) {
    return run_weft(up.scratch, "exec web --store " + up.store() + options +
                                    " -- sh -c 'echo replica-$WEFT_REPLICA'");
  };
  CommandResult result;
  EXPECT_TRUE(wait_until([&] {
    result = exec(" --replica " + name);
    return result.code == 0;
  })) << result.err;
  EXPECT_EQ(result.out, "replica-" + name + "\n");
  EXPECT_THAT(exec("").err, HasSubstr("replica is ''; of a service it must be a number"));
  EXPECT_THAT(exec(" --replica 99").err, HasSubstr("web does not run now"));
}

TEST(ExecOverTheNetwork, RunsAsTheJobsUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root runs jobs of others";
  Up up({"--listen", "127.0.0.1:0"});
  ASSERT_EQ(::chmod(up.scratch.path("").c_str(), 0711), 0) << "they write their own output";
  const std::string token = up.token("other", "--user nobody");
  const auto as_nobody = [&](const std::string& words) {
    const std::string out = up.scratch.path("out");
    const std::string line = "env WEFT_URL=" + up.url() + " WEFT_TOKEN_FILE=" + token + " " +
                             WEFT_BINARY + " " + words + " >" + out + " </dev/null";
    EXPECT_EQ(std::system(line.c_str()), 0) << words;
    return slurp(out);
  };
  as_nobody("submit " +
            up.scratch.write("job.yaml", "name: theirs\nworkdir: /tmp\nrun: sleep 99\n"));
  ASSERT_TRUE(up.comes_to("theirs", "running"));
  EXPECT_EQ(as_nobody("exec theirs -- sh -c 'id -un; pwd'"), "nobody\n/tmp\n");
  EXPECT_EQ(up.weft("cancel theirs").code, 0);
}

TEST(ExecOverTheNetwork, IsRefusedToOthers) {
  Up up({"--listen", "127.0.0.1:0"});
  ASSERT_TRUE(up.comes_to(up.submit("long", "sleep 1000"), "running"));
  const auto ask = [&](const std::string& token, const std::string& method,
                       const std::string& target, const std::string& body = "") {
    auto to = live::parse_url(up.url());
    to->token = slurp(token);
    while (!to->token.empty() && to->token.back() == '\n') to->token.pop_back();
    live::HttpClient client(*to);
    const auto reply = client.ask(method, target, body, 10);
    return reply.ok() ? *reply : live::HttpReply{};
  };
  const std::string other = up.token("other", "--user nobody");
  const std::string admin = up.token("admin", "--role admin --user nobody");
  const std::string body = R"({"command": ["cat"]})";
  EXPECT_EQ(ask(other, "POST", "/v1/jobs/long/exec", body).status, 403);
  const live::HttpReply made = ask(admin, "POST", "/v1/jobs/long/exec", body);
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string path = "/v1/execs/" + Json::parse(made.body).at("id").get<std::string>();
  const std::string third = up.token("third", "--user daemon");
  EXPECT_EQ(ask(third, "GET", path + "/output").status, 403);
  EXPECT_EQ(ask(third, "POST", path + "/input?offset=0", "rm -rf").status, 403);
  EXPECT_EQ(ask(third, "DELETE", path).status, 403);
  EXPECT_EQ(ask(admin, "POST", path + "/input?offset=0&last=1", "hi").status, 200);
  std::string said;
  EXPECT_TRUE(wait_until([&] {
    const Json part = Json::parse(ask(admin, "GET", path + "/output?after=0").body);
    said.clear();
    for (const Json& piece : part.at("parts"))
      said += *from_base64(piece.at("data").get<std::string>());
    return part.at("ended").get<bool>();
  }));
  EXPECT_EQ(said, "hi");
  EXPECT_EQ(ask(admin, "DELETE", path).status, 200);
  EXPECT_EQ(ask(admin, "GET", path + "/output").status, 404);
}

}  // namespace
}  // namespace weft

#include "runtime/launch/log_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft::runtime {
namespace {

class Relay : public testing::Test {
 protected:
  Relay() {
    signal(SIGPIPE, SIG_IGN);
    char pattern[] = "/tmp/weft-relay-test-XXXXXX";
    EXPECT_NE(mkdtemp(pattern), nullptr);
    folder_ = pattern;
    for (auto& ends : {out_, err_}) EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  }
  ~Relay() override {
    for (const int fd : {out_[0], out_[1], err_[0], err_[1]}) close(fd);
    std::filesystem::remove_all(folder_);
  }
  void write_log(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name, std::ios::app) << text;
  }
  void follow(LogRelay& relay, MemberId member, const std::string& name) {
    relay.follow(member, FileFollower(folder_ + "/" + name + ".out", 0, name + "> "),
                 FileFollower(folder_ + "/" + name + ".err", 0, name + "> "));
  }
  static std::string drained(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  std::string folder_;
  int out_[2], err_[2];
};

TEST_F(Relay, KeepsTheTwoStreamsApart) {
  LogRelay relay(out_[1], err_[1]);
  follow(relay, 0, "a");
  follow(relay, 1, "b");
  write_log("a.out", "one\ntw");
  write_log("b.err", "bad\n");
  while (relay.pump()) {
  }
  relay.say("a word of our own");
  EXPECT_EQ(drained(out_[0]), "a> one\n");
  EXPECT_EQ(drained(err_[0]), "b> bad\nweft launch: a word of our own\n");
  relay.close(0);  // its last line never ended
  while (relay.pump()) {
  }
  EXPECT_EQ(drained(out_[0]), "a> tw\n");
}

TEST_F(Relay, WaitsForASlowReaderWithoutLosingALineOrHoardingThem) {
  LogRelay relay(out_[1], err_[1]);
  follow(relay, 0, "a");
  std::string want, text;
  for (int i = 0; i < 200'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    text += line;
    want += "a> " + line;
  }
  write_log("a.out", text);
  for (int i = 0; i < 1000; ++i) relay.pump();  // returns, though nobody reads
  EXPECT_TRUE(relay.blocked());
  relay.close(0);
  std::string got;
  while (relay.pump()) got += drained(out_[0]);
  got += drained(out_[0]);
  EXPECT_TRUE(got == want) << got.size() << " of " << want.size() << " bytes";
}

TEST_F(Relay, GoesOnWhenTheReaderIsGone) {
  LogRelay relay(out_[1], err_[1]);
  follow(relay, 0, "a");
  close(out_[0]);
  out_[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
  write_log("a.out", std::string(300'000, 'x') + "\n");
  relay.close(0);
  int rounds = 0;
  while (relay.pump() && ++rounds < 1000) {
  }
  EXPECT_LT(rounds, 1000);
  EXPECT_FALSE(relay.blocked());
}

}  // namespace
}  // namespace weft::runtime

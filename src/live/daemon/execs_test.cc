// Sessions of commands beside ranks, with agents and callers that are played.
#include "live/daemon/execs.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/base64.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr NodeId kNode = 1;
const Caller kAnn{1000, 1000, "ann", Role::kUser};
const Caller kBob{1001, 1001, "bob", Role::kUser};
const Caller kRootCaller{0, 0, "root", Role::kAdmin};

ExecNews news_of(ExecNews::Kind kind, const std::string& id) {
  ExecNews news;
  news.kind = kind;
  news.id = id;
  return news;
}
std::string id_of(int number) { return fmt::format("{:032x}", number); }

class ExecsTest : public testing::Test {
 protected:
  using Replies = std::shared_ptr<std::vector<ExecReply>>;

  ExecsTest() : execs_(7, [this](NodeId node, const Json& m) { sent_.emplace_back(node, m); }) {}

  Execs::Request request(int number, const std::string& job = "j") {
    Execs::Request request;
    request.order = {id_of(number), {job, 3}, 0, {{"cat"}, std::nullopt, 60}};
    request.job = job;
    request.node = kNode;
    request.uid = kAnn.uid;
    return request;
  }
  static std::pair<Replies, Execs::Answer> listener() {
    auto replies = std::make_shared<std::vector<ExecReply>>();
    return {replies, [replies](ExecReply reply) { replies->push_back(std::move(reply)); }};
  }
  // The one answer that was given; a status of 0: none was, or more than one.
  static ExecReply only(const Replies& replies) {
    return replies->size() == 1 ? replies->front() : ExecReply{0, {}};
  }
  Replies open(const Execs::Request& wish) {
    const auto [replies, answer] = listener();
    execs_.open(wish, now_, answer);
    return replies;
  }
  std::string begin(int number = 1) {
    const Replies replies = open(request(number));
    says(news_of(ExecNews::Kind::kBegan, id_of(number)));
    EXPECT_EQ(only(replies).status, 201);
    return id_of(number);
  }
  void says(const ExecNews& news, NodeId node = kNode) { execs_.take(node, news, now_); }
  void prints(const std::string& id, int stream, const std::string& data) {
    ExecNews news = news_of(ExecNews::Kind::kOutput, id);
    news.stream = stream;
    news.data = data;
    says(news);
  }
  void ends(const std::string& id, int code, const std::string& why = "") {
    ExecNews news = news_of(ExecNews::Kind::kEnded, id);
    news.code = code;
    news.why = why;
    says(news);
  }
  Replies read(const std::string& id, std::uint64_t after, const Caller& caller = kAnn) {
    const auto [replies, answer] = listener();
    execs_.read(id, caller, after, now_, answer);
    return replies;
  }
  Replies write(const std::string& id, std::uint64_t offset, const std::string& bytes,
                bool last = false, const Caller& caller = kAnn) {
    const auto [replies, answer] = listener();
    execs_.write(id, caller, offset, bytes, last, now_, answer);
    return replies;
  }
  Replies end(const std::string& id, const Caller& caller = kAnn) {
    const auto [replies, answer] = listener();
    execs_.end(id, caller, now_, answer);
    return replies;
  }
  void pass(Seconds seconds) {
    for (Seconds passed = 0; passed < seconds; passed += 0.5) {
      now_ += 0.5;
      execs_.tick(now_);
    }
  }
  int count(const std::string& op) const {
    int count = 0;
    for (const auto& [node, message] : sent_) count += message.at("op") == op ? 1 : 0;
    return count;
  }
  // All input that the agent was sent.
  std::string input() const {
    std::string all;
    for (const auto& [node, message] : sent_) {
      if (message.at("op") == "exec_input")
        all += *from_base64(message.at("data").get<std::string>());
    }
    return all;
  }
  static std::string text(const ExecReply& reply) {
    std::string all;
    for (const Json& part : reply.body.at("parts")) {
      all += fmt::format("{}:{};", part.at("stream").get<int>(),
                         *from_base64(part.at("data").get<std::string>()));
    }
    return all;
  }

  Seconds now_ = 1000;
  std::vector<std::pair<NodeId, Json>> sent_;
  Execs execs_;
};

TEST_F(ExecsTest, ACommandGoesToItsNodeAndItsOutputComesBackInOrder) {
  const Replies opened = open(request(1));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].first, kNode);
  EXPECT_EQ(sent_[0].second.at("op"), "exec");
  EXPECT_EQ(sent_[0].second.at("term"), 7);
  EXPECT_TRUE(read_exec_order(sent_[0].second).ok());
  EXPECT_TRUE(opened->empty()) << "not before the agent has answered";
  says(news_of(ExecNews::Kind::kBegan, id_of(1)));
  EXPECT_EQ(only(opened).body.at("id"), id_of(1));
  prints(id_of(1), 1, "a");
  prints(id_of(1), 1, "b");
  prints(id_of(1), 2, "c");
  prints(id_of(1), 1, "d");
  const ExecReply some = only(read(id_of(1), 0));
  EXPECT_EQ(text(some), "1:ab;2:c;1:d;");
  EXPECT_EQ(some.body.at("next"), 4);
  EXPECT_EQ(some.body.at("ended"), false);
  ends(id_of(1), 3);
  const ExecReply rest = only(read(id_of(1), 2));
  EXPECT_EQ(text(rest), "2:c;1:d;") << "what was read before is gone, what was lost comes again";
  EXPECT_EQ(rest.body.at("ended"), true);
  EXPECT_EQ(rest.body.at("code"), 3);
}

TEST_F(ExecsTest, AReaderWaitsForOutputButNotForEver) {
  const std::string id = begin();
  const Replies first = read(id, 0);
  EXPECT_TRUE(first->empty());
  prints(id, 1, "x");
  EXPECT_EQ(text(only(first)), "1:x;");
  const Replies second = read(id, 1);
  pass(6);
  EXPECT_EQ(text(only(second)), "") << "nothing came";
  const Replies third = read(id, 1);
  const Replies fourth = read(id, 1);
  EXPECT_EQ(third->size(), 1u) << "a second reader sends the first away";
  ends(id, 0);
  EXPECT_EQ(only(fourth).body.at("ended"), true);
}

TEST_F(ExecsTest, OutputIsBoundedByWhatWasRead) {
  const std::string id = begin();
  std::uint64_t printed = 0;
  for (; printed < kExecWindow; printed += kMostExecPiece) {
    prints(id, 1, std::string(kMostExecPiece, 'x'));
  }
  EXPECT_EQ(count("exec_more"), 0) << "nobody has read";
  EXPECT_EQ(only(read(id, 0)).body.at("next"), kExecWindow);
  EXPECT_EQ(count("exec_more"), 0) << "it may not have arrived";
  read(id, 100);
  ASSERT_EQ(count("exec_more"), 1);
  EXPECT_EQ(sent_.back().second.at("until"), kExecWindow + 100);
  prints(id, 1, std::string(100, 'y'));
  const Replies over = read(id, 100);
  prints(id, 1, "z");
  const ExecReply end = only(read(id, 100));
  EXPECT_EQ(end.body.at("ended"), true) << "an agent that does not keep to it is given up";
  EXPECT_THAT(end.body.at("why").get<std::string>(), HasSubstr("more output than it may"));
  EXPECT_EQ(count("exec_end"), 1);
}

TEST_F(ExecsTest, InputIsBoundedByWhatTheCommandHasRead) {
  const std::string id = begin();
  const std::string piece(64 << 10, 'i');
  std::uint64_t offset = 0;
  for (; offset < kExecWindow; offset += piece.size()) {
    EXPECT_EQ(only(write(id, offset, piece)).body.at("next"), offset + piece.size());
  }
  const Replies waiting = write(id, offset, "0123456789");
  EXPECT_TRUE(waiting->empty()) << "there is no room";
  ExecNews took = news_of(ExecNews::Kind::kTook, id);
  took.took = 4;
  says(took);
  EXPECT_EQ(only(waiting).body.at("next"), offset + 4) << "as far as there is";
  const Replies patient = write(id, offset + 4, "456789");
  pass(6);
  EXPECT_EQ(only(patient).body.at("next"), offset + 4) << "in the end without any";
  took.took = 1000;
  says(took);
  EXPECT_EQ(only(write(id, offset, "0123456789", true)).body.at("next"), offset + 10)
      << "what was taken before is passed over";
  EXPECT_EQ(input().substr(offset), "0123456789");
  EXPECT_EQ(sent_.back().second.at("last"), 1);
  EXPECT_EQ(only(write(id, offset + 10, "", true)).status, 200) << "said again";
  EXPECT_EQ(only(write(id, offset + 10, "more")).status, 409);
  EXPECT_EQ(only(write(id, offset + 11, "x")).status, 400) << "a hole";
}

TEST_F(ExecsTest, RefusalsAreTold) {
  const Replies frozen = open(request(1));
  ends(id_of(1), 126, "rank 0 is frozen");
  EXPECT_EQ(only(frozen).status, 409);
  EXPECT_EQ(only(frozen).body.at("error"), "rank 0 is frozen");
  EXPECT_EQ(execs_.size(), 0u);
  const Replies silent = open(request(2));
  pass(11);
  EXPECT_EQ(only(silent).status, 503);
  EXPECT_EQ(execs_.size(), 0u);
  EXPECT_EQ(count("exec_end"), 1) << "should it begin after all";
  const Replies lost = open(request(3));
  execs_.lost(kNode, "its agent went", now_);
  EXPECT_EQ(only(lost).status, 503);
}

TEST_F(ExecsTest, ThereAreOnlySoMany) {
  for (int i = 0; i < 8; ++i) begin(i);
  const ExecReply many = only(open(request(100)));
  EXPECT_EQ(many.status, 429);
  EXPECT_THAT(many.body.at("error").get<std::string>(), HasSubstr("at most 8 and 64"));
  for (int i = 8; i < 64; ++i) open(request(i, "job-" + std::to_string(i)));
  EXPECT_EQ(execs_.size(), 64u);
  EXPECT_EQ(only(open(request(101, "another"))).status, 429);
  EXPECT_EQ(execs_.size(), 64u);
  ends(id_of(0), 0);
  EXPECT_EQ(only(end(id_of(0))).status, 200) << "one whose end was read makes room";
  EXPECT_TRUE(open(request(100))->empty());
}

TEST_F(ExecsTest, OthersMayNotTouchIt) {
  const std::string id = begin();
  EXPECT_EQ(only(read(id, 0, kBob)).status, 403);
  EXPECT_EQ(only(write(id, 0, "x", false, kBob)).status, 403);
  EXPECT_EQ(only(end(id, kBob)).status, 403);
  const auto [replies, answer] = listener();
  execs_.resize(id, kBob, 3, 4, answer);
  EXPECT_EQ(only(replies).status, 403);
  EXPECT_EQ(count("exec_end") + count("exec_input") + count("exec_size"), 0);
  EXPECT_TRUE(read(id, 0, kRootCaller)->empty()) << "administrators may";
  EXPECT_EQ(only(read(id_of(9), 0)).status, 404);
  EXPECT_EQ(only(read(id, 5)).status, 400) << "output that is not there";
  prints(id, 1, "x");
  says(news_of(ExecNews::Kind::kEnded, id), kNode + 1);
  EXPECT_EQ(only(read(id, 0)).body.at("ended"), false) << "nor other nodes";
}

TEST_F(ExecsTest, OneThatNobodyReadsIsEnded) {
  const std::string id = begin();
  const Replies reader = read(id, 0);
  pass(4);
  EXPECT_EQ(count("exec_end"), 0) << "somebody waits";
  pass(15);
  EXPECT_EQ(count("exec_end"), 0) << "somebody may come back";
  pass(3);
  EXPECT_EQ(count("exec_end"), 1);
  ends(id, 143);
  pass(10);
  EXPECT_EQ(execs_.size(), 1u) << "its end can still be read";
  pass(10);
  EXPECT_EQ(execs_.size(), 0u);
}

TEST_F(ExecsTest, ItsCallerEndsIt) {
  const std::string id = begin();
  const Replies reader = read(id, 0);
  EXPECT_EQ(only(end(id)).status, 200);
  EXPECT_EQ(only(end(id)).status, 200);
  EXPECT_EQ(count("exec_end"), 1);
  EXPECT_TRUE(reader->empty()) << "its end is read as ever";
  ExecNews news = news_of(ExecNews::Kind::kEnded, id);
  news.signal = 15;
  says(news);
  EXPECT_EQ(only(reader).body.at("signal"), 15);
  EXPECT_EQ(only(write(id, 0, "x")).status, 409);
  EXPECT_EQ(only(end(id)).status, 200);
  EXPECT_EQ(only(read(id, 0)).status, 404);
}

TEST_F(ExecsTest, AnAgentThatIsLostOrSilentEndsIt) {
  const std::string id = begin(1), other = begin(2);
  const Replies reader = read(id, 0), writer = write(other, 0, "x");
  execs_.lost(kNode + 1, "not theirs", now_);
  EXPECT_TRUE(reader->empty());
  execs_.lost(kNode, "its agent went", now_);
  EXPECT_EQ(only(reader).body.at("why"), "its agent went");
  EXPECT_EQ(only(reader).body.at("code"), 255);
  EXPECT_EQ(only(read(other, 0)).body.at("ended"), true);
  const std::string silent = begin(3);
  end(silent);
  for (int i = 0; i < 3; ++i) {
    read(silent, 0);
    pass(4);
  }
  EXPECT_EQ(only(read(silent, 0)).body.at("why"), "its agent did not answer");
}

TEST_F(ExecsTest, OnlyATerminalHasASize) {
  const std::string id = begin();
  const auto [refused, no] = listener();
  execs_.resize(id, kAnn, 3, 4, no);
  EXPECT_EQ(only(refused).status, 409);
  Execs::Request wish = request(2);
  wish.order.command.terminal = ExecTerminal{};
  open(wish);
  says(news_of(ExecNews::Kind::kBegan, id_of(2)));
  const auto [done, yes] = listener();
  execs_.resize(id_of(2), kAnn, 3, 4, yes);
  EXPECT_EQ(only(done).status, 200);
  EXPECT_EQ(sent_.back().second.at("op"), "exec_size");
  EXPECT_EQ(sent_.back().second.at("columns"), 4);
}

}  // namespace
}  // namespace weft::live

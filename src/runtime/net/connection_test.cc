#include "runtime/net/connection.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/stopwatch.h"
#include "runtime/net/connection_testing.h"

namespace weft::runtime {
namespace {

using testing::HasSubstr;

class ConnectionTest : public testing::Test {
 protected:
  std::shared_ptr<Connection> connect(const SocketAddress& where,
                                      const Connection::Settings& settings,
                                      Seconds deadline_s = 5) {
    made_ = Connection::connect(*reactor_, where, settings, Purpose::kControl, deadline_s,
                                log_.events());
    return made_;
  }
  void TearDown() override {
    if (made_) reactor_->call([this] { made_->close(); });
  }

  const Secret secret_ = *Secret::fresh();
  const Connection::Settings ours_ = test_settings(secret_, "client");
  const Connection::Settings theirs_ = test_settings(secret_, "server");
  Log log_;
  std::unique_ptr<Reactor> reactor_ = std::move(Reactor::start()).value();
  std::shared_ptr<Connection> made_;
};

TEST_F(ConnectionTest, CarriesFramesBothWaysOnceBothHaveProvedThemselves) {
  TestListener server(theirs_);
  const auto connection = connect(server.where(), ours_);
  connection->send(3, "sent before it was open");
  EXPECT_TRUE(server.log.wait("3: sent before it was open"));
  connection->send(7, "");
  connection->send(7, "and back");
  EXPECT_TRUE(log_.wait("7: and back"));
  EXPECT_TRUE(log_.has("7: "));
  EXPECT_TRUE(server.log.has("accepted client"));
  EXPECT_EQ(connection->queued_bytes(), 0U);
  reactor_->call([&] {
    EXPECT_EQ(connection->peer_label(), "server");
    EXPECT_FALSE(connection->encrypted());
    connection->close();
  });
  EXPECT_TRUE(server.log.wait("closed by the other side"));
}

TEST_F(ConnectionTest, CarriesLargeFramesFromMemoryThatIsKept) {
  for (const bool encrypt : {false, true}) {
    Connection::Settings settings = theirs_;
    settings.options.encrypt = encrypt;  // one side is enough
    TestListener server(settings);
    const auto connection = connect(server.where(), ours_);
    const auto memory = std::make_shared<std::vector<std::byte>>(1 << 20, std::byte{42});
    const std::string start = "a start";
    const std::vector<Piece> pieces = {{view_of(start)},
                                       {ByteView(*memory).first((1 << 20) - 7), memory}};
    connection->send(7, pieces);
    EXPECT_TRUE(log_.wait("7: 1048576 bytes"));
    EXPECT_TRUE(eventually([&] { return memory.use_count() == 2; })) << "held after it was sent";
    reactor_->call([&] { EXPECT_EQ(connection->encrypted(), encrypt); });
    TearDown();
  }
}

TEST_F(ConnectionTest, ASideWithAnotherSecretIsRefusedAtOnce) {
  TestListener server(test_settings(*Secret::fresh(), "server"));
  const std::int64_t start = monotonic_ns();
  connect(server.where(), ours_, 30);
  EXPECT_TRUE(log_.wait("bad proof"));
  EXPECT_LT(monotonic_ns() - start, 5'000'000'000);
  EXPECT_TRUE(server.log.lines().empty()) << "the stranger was noticed";
}

// It cannot prove itself, but takes our proof: we must not go on with it.
TEST_F(ConnectionTest, AListenerThatOnlyPretendsIsNotBelieved) {
  const auto descriptor = open_listening("127.0.0.1:0");
  ASSERT_TRUE(descriptor.ok());
  const auto where = resolve(fmt::format("127.0.0.1:{}", port_of(*descriptor)));
  connect(*where, ours_, 30);
  int accepted = -1;
  ASSERT_TRUE(eventually([&] { return (accepted = accept(*descriptor, nullptr, nullptr)) >= 0; }));
  Challenge challenge;
  challenge.label = "server";
  const std::string said = encode(challenge) + std::string(sizeof(Proof), 'p');
  ASSERT_EQ(write(accepted, said.data(), said.size()), static_cast<ssize_t>(said.size()));
  EXPECT_TRUE(log_.wait("bad proof"));
  EXPECT_FALSE(log_.has("open"));
  close(accepted);
  close(*descriptor);
}

TEST_F(ConnectionTest, AMemberOfAnotherJobIsAStranger) {
  TestListener server(theirs_);
  Connection::Settings other = ours_;
  other.identity.job = 6;
  connect(server.where(), other, 0.3);
  EXPECT_TRUE(log_.wait("closed by the other side"));
  EXPECT_TRUE(server.log.lines().empty());
}

TEST_F(ConnectionTest, GarbageIsDroppedWithoutAWord) {
  TestListener server(theirs_);
  Hello hello;
  hello.job = 5;
  const struct {
    const char* what;
    std::string bytes;
  } rows[] = {
      {"another protocol", "GET / HTTP/1.1\r\n\r\n"},
      {"a hello and a wrong proof", encode(hello) + std::string(32, 'x')},
      {"another version", std::string("WEFT\x09\x00", 6) + std::string(100, 'x')},
  };
  for (const auto& row : rows) {
    RawSocket stranger(server.where());
    stranger.write(row.bytes);
    const std::string answer = stranger.read_all();
    EXPECT_LE(answer.size(), kMostChallengeBytes) << row.what;
  }
  EXPECT_TRUE(server.log.lines().empty());
  const auto connection = connect(server.where(), ours_);
  EXPECT_TRUE(log_.wait("open"));
}

TEST_F(ConnectionTest, ThoseWhoSayNothingAreDroppedInTimeAndHoldNobodyUpForLong) {
  Connection::Settings quick = theirs_;
  quick.handshake_s = 0.3;
  TestListener server(quick);
  std::vector<std::unique_ptr<RawSocket>> silent;
  for (std::size_t i = 0; i < Listener::kMostUnproved + 20; ++i) {
    silent.push_back(std::make_unique<RawSocket>(server.where()));
  }
  connect(server.where(), ours_, 10);
  EXPECT_TRUE(log_.wait("open"));
  EXPECT_EQ(silent[0]->read_all(), "");  // closed
}

TEST_F(ConnectionTest, ARefusedConnectionIsTriedAgainUntilSomebodyListens) {
  const auto descriptor = open_listening("127.0.0.1:0");
  const int port = port_of(*descriptor);
  close(*descriptor);
  const auto where = resolve(fmt::format("127.0.0.1:{}", port));
  connect(*where, ours_, 0.2);
  EXPECT_TRUE(log_.wait("refused"));

  Log late;
  const auto connection =
      Connection::connect(*reactor_, *where, ours_, Purpose::kControl, 20, late.events());
  const auto server = std::move(Reactor::start()).value();
  const auto listener = Listener::open(*server, fmt::format("127.0.0.1:{}", port), theirs_,
                                       [](const auto& accepted) { accepted->close(); });
  ASSERT_TRUE(listener.ok()) << listener.error().text();
  EXPECT_TRUE(late.wait("open"));
  EXPECT_TRUE(late.wait("closed by the other side"));
}

// The listener's side of the handshake by hand, so that a test decides about every byte after it.
int shake_hands_at(int listening, const Identity& identity) {
  int accepted = -1;
  CHECK(eventually([&] { return (accepted = accept(listening, nullptr, nullptr)) >= 0; }));
  Handshake listener = Handshake::listener(identity, false, *fresh_nonce());
  std::string heard(200, '\0'), out;
  for (Handshake::State state = Handshake::State::kGoing; state == Handshake::State::kGoing;) {
    const ssize_t got = read(accepted, heard.data(), heard.size());
    CHECK(got > 0);
    ByteView in = view_of(heard).first(static_cast<std::size_t>(got));
    out.clear();
    state = listener.feed(in, out);
    CHECK(state == Handshake::State::kGoing || state == Handshake::State::kDone);
    CHECK(write(accepted, out.data(), out.size()) == static_cast<ssize_t>(out.size()));
  }
  return accepted;
}

TEST_F(ConnectionTest, AResetIsNoticedAtOnce) {
  const auto listening = open_listening("127.0.0.1:0");
  connect(*resolve(fmt::format("127.0.0.1:{}", port_of(*listening))), ours_, 30);
  const int accepted = shake_hands_at(*listening, theirs_.identity);
  EXPECT_TRUE(log_.wait("open"));
  const linger at_once{1, 0};
  setsockopt(accepted, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  const std::int64_t start = monotonic_ns();
  close(accepted);
  EXPECT_TRUE(log_.wait("reset"));
  EXPECT_LT(monotonic_ns() - start, 1'000'000'000);
  close(*listening);
}

TEST_F(ConnectionTest, ALongBodyThatTricklesInIsReadAndItsEndInTheMiddleNoticed) {
  const auto listening = open_listening("127.0.0.1:0");
  connect(*resolve(fmt::format("127.0.0.1:{}", port_of(*listening))), ours_, 30);
  const int accepted = shake_hands_at(*listening, theirs_.identity);
  std::string frame(kFrameHeaderBytes + 300'000, 'x');
  encode({.kind = 1, .length = 300'000},
         std::as_writable_bytes(std::span(frame)).first<kFrameHeaderBytes>());
  for (std::size_t at = 0; at < frame.size(); at += 10'000) {
    const std::string part = frame.substr(at, 10'000);
    ASSERT_EQ(write(accepted, part.data(), part.size()), static_cast<ssize_t>(part.size()));
    if (at == 150'000) {
      EXPECT_FALSE(eventually([&] { return log_.has("1: 300000 bytes"); }, 0.05));
    }
  }
  EXPECT_TRUE(log_.wait("1: 300000 bytes"));
  ASSERT_EQ(write(accepted, frame.data(), 50'000), 50'000);
  EXPECT_FALSE(eventually([&] { return log_.has("closed by the other side"); }, 0.05));
  const std::int64_t start = monotonic_ns();
  close(accepted);
  EXPECT_TRUE(log_.wait("closed by the other side"));
  EXPECT_LT(monotonic_ns() - start, 1'000'000'000);
  close(*listening);
}

TEST_F(ConnectionTest, AFrameAboveTheLimitEndsTheConnection) {
  Connection::Settings small = theirs_;
  small.most_frame_bytes = 100;
  TestListener server(small);
  const auto connection = connect(server.where(), ours_);
  connection->send(1, std::string(100, 'x'));
  EXPECT_TRUE(server.log.wait("1: 100 bytes"));
  connection->send(1, std::string(101, 'x'));
  EXPECT_TRUE(server.log.wait("bad frame"));
  // Writing on goes nowhere and raises no signal.
  for (int i = 0; i < 100; ++i) connection->send(1, std::string(100, 'x'));
  EXPECT_TRUE(
      eventually([&] { return log_.has("closed by the other side") || log_.has("reset"); }));
}

TEST_F(ConnectionTest, FinishWritesWhatIsQueuedFirst) {
  TestListener server(theirs_);
  const auto connection = connect(server.where(), ours_);
  for (int i = 0; i < 20; ++i) connection->send(1, std::string(1 << 20, 'x'));
  connection->send(2, "goodbye");
  connection->finish();
  EXPECT_TRUE(server.log.wait("2: goodbye"));
  EXPECT_TRUE(server.log.wait("closed by the other side"));
  server.reactor->call([&] {
    for (const auto& accepted : server.accepted) accepted->close();
  });
  EXPECT_TRUE(log_.lines().empty() || log_.lines() == std::vector<std::string>{"open"});
}

TEST_F(ConnectionTest, FinishWaitsAsLongAsTheOtherSideTakesSomething) {
  TestListener server(theirs_);
  const auto connection = connect(server.where(), ours_);
  ASSERT_TRUE(server.log.wait("accepted client"));
  bool slow = true;  // on the server's thread: after each frame it stops reading
  const auto read_on = [&] { server.accepted[0]->pause_reading(false); };
  server.reactor->call([&] {
    Connection::Events events = server.log.events();
    events.on_frame = [&, log = events.on_frame](std::uint16_t kind, ByteView body) {
      log(kind, body);
      if (slow) server.accepted[0]->pause_reading(true);
    };
    server.accepted[0]->set_events(events);
  });
  for (int i = 0; i < 64; ++i) connection->send(1, std::string(1 << 20, 'x'));
  connection->send(2, "goodbye");
  connection->finish();
  for (int turn = 0; turn < 4; ++turn) {  // longer in all than it waits for nothing
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    EXPECT_GT(connection->queued_bytes(), 0U) << "all was taken, or given up";
    server.reactor->call(read_on);
  }
  server.reactor->call([&] { slow = false, read_on(); });
  EXPECT_TRUE(server.log.wait("2: goodbye"));
}

TEST_F(ConnectionTest, CloseFromWithinAnEventIsSafe) {
  TestListener server(theirs_);
  Log log;
  std::shared_ptr<Connection> connection;
  Connection::Events events = log.events();
  std::string captured = "frame, which is longer than what a function keeps inside itself";
  events.on_frame = [&log, &connection, captured](std::uint16_t, ByteView) {
    connection->close();
    log.add(captured);
  };
  reactor_->call([&] {
    connection =
        Connection::connect(*reactor_, server.where(), ours_, Purpose::kControl, 5, events);
  });
  for (int i = 0; i < 3; ++i) connection->send(7, "x");
  EXPECT_TRUE(log.wait(captured));
  EXPECT_TRUE(eventually(
      [&] { return server.log.has("closed by the other side") || server.log.has("reset"); }));
  EXPECT_EQ(log.lines().size(), 2U) << "events after close()";
}

TEST_F(ConnectionTest, PausedReadingHoldsTheSenderBackAndStillSeesTheEnd) {
  TestListener server(theirs_);
  const auto connection = connect(server.where(), ours_);
  ASSERT_TRUE(server.log.wait("accepted client"));
  server.reactor->call([&] { server.accepted[0]->pause_reading(true); });
  for (int i = 0; i < 64; ++i) connection->send(1, std::string(1 << 20, 'x'));
  ASSERT_TRUE(eventually([&] { return connection->queued_bytes() > 0; }));
  EXPECT_FALSE(server.log.has("1: 1048576 bytes"));
  server.reactor->call([&] { server.accepted[0]->pause_reading(false); });
  // All is read: behind what fills the receiver's memory the end could not arrive.
  EXPECT_TRUE(eventually([&] { return server.log.lines().size() == 65; }));
  EXPECT_TRUE(eventually([&] { return connection->queued_bytes() == 0; }));
  server.reactor->call([&] { server.accepted[0]->pause_reading(true); });
  connection->close();
  EXPECT_TRUE(server.log.wait("closed by the other side"));
}

TEST(SocketOptions, AreCheckedAndAppliedAndRefusalsNamed) {
  EXPECT_THAT(check_options({.dscp = 64}).error().what, HasSubstr("0 to 63"));
  EXPECT_FALSE(check_options({.pacing_bytes_per_s = -1}).ok());
  EXPECT_FALSE(check_options({.keepalive_s = -1}).ok());
  EXPECT_FALSE(check_options({.unsent_bytes = -1}).ok());
  const SocketOptions good{.congestion = "reno",
                           .pacing_bytes_per_s = 1e9,
                           .dscp = 10,
                           .keepalive_s = 5,
                           .send_buffer_bytes = 1 << 20,
                           .receive_buffer_bytes = 1 << 20,
                           .unsent_bytes = 1 << 18};
  EXPECT_TRUE(check_options(good).ok());
  EXPECT_EQ(refused_options(good), "");
  EXPECT_THAT(refused_options({.congestion = "nonesuch"}),
              HasSubstr("congestion control 'nonesuch' was refused"));
}

TEST(Address, SaysWhatIsWrong) {
  EXPECT_EQ(text_of(*resolve("127.0.0.1:80")), "127.0.0.1:80");
  EXPECT_EQ(text_of(*resolve("[::1]:80")), "[::1]:80");
  for (const char* wrong : {"", "host", ":80", "host:", "host:x", "host:70000", "host:-1"}) {
    EXPECT_THAT(resolve(wrong).error().what, HasSubstr("must be host:port")) << wrong;
  }
  const auto first = open_listening("127.0.0.1:0");
  const int port = port_of(*first);
  const auto second = open_listening(fmt::format("127.0.0.1:{}", port));
  EXPECT_THAT(second.error().what, HasSubstr(fmt::format("port {}", port)));
  close(*first);
}

}  // namespace
}  // namespace weft::runtime

#include "runtime/tcp/tcp_transport.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <random>
#include <set>

#include "base/stopwatch.h"
#include "runtime/net/connection_testing.h"

namespace weft::runtime {
namespace {

using testing::HasSubstr;

// Members 0, 1, … of one job in one process, each with a reactor of its own.
class TcpTransportTest : public testing::Test {
 protected:
  struct Member {
    DoorbellWord word{};
    std::unique_ptr<Reactor> reactor = std::move(Reactor::start()).value();
    Log lost;
    std::unique_ptr<TcpTransport> transport;
  };

  // Settings of `job` and secret can be changed by a test before it starts members.
  void start(MemberId count) {
    for (MemberId id = 0; id < count; ++id) start_one(id);
  }

  void start_one(MemberId id) {
    auto member = std::make_unique<Member>();
    TcpTransport::Settings settings = settings_;
    settings.self = id;
    settings.listen_address = "127.0.0.1:0";
    settings.address_of = [this](MemberId other) -> std::optional<std::string> {
      const std::lock_guard lock(mutex_);
      const auto found = addresses_.find(other);
      return found == addresses_.end() ? std::nullopt : std::optional(found->second);
    };
    settings.on_peer_lost = [&lost = member->lost](MemberId who, const std::string& why,
                                                   bool sure) {
      lost.add(why);
      lost.add(fmt::format("{} {}", who, sure ? "confirmed" : "unconfirmed"));
    };
    auto opened = TcpTransport::open(*member->reactor, Doorbell(&member->word), settings);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    member->transport = std::move(opened).value();
    const std::lock_guard lock(mutex_);
    addresses_[id] = fmt::format("127.0.0.1:{}", member->transport->port());
    members_[id] = std::move(member);
  }

  TcpTransport& at(MemberId id) { return *members_.at(id)->transport; }

  // Sends when there is room; the payload is `bytes` times the low byte of `index`.
  testing::AssertionResult send(MemberId from, std::vector<MemberId> to, std::uint32_t index,
                                std::uint32_t bytes) {
    Doorbell bell(&members_.at(from)->word);
    const std::int64_t end = monotonic_ns() + static_cast<std::int64_t>(kTestDeadline * 1e9);
    while (monotonic_ns() < end) {
      const std::uint32_t seen = bell.announce();
      std::byte* room = at(from).reserve(to, bytes, false).at;
      if (room == nullptr) {
        bell.sleep(seen, 0.5);
        continue;
      }
      bell.retract();
      std::memset(room, static_cast<int>(index & 0xff), bytes);
      Header header;
      header.index = index;
      header.from = static_cast<std::uint16_t>(from);
      header.bytes = bytes;
      at(from).post(room, to, header);
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "no room for message " << index;
  }

  // Waits for a message on the doorbell, checks its payload and releases it.
  std::optional<Message> receive(MemberId id, Seconds deadline_s = kTestDeadline) {
    Doorbell bell(&members_.at(id)->word);
    const std::int64_t end = monotonic_ns() + static_cast<std::int64_t>(deadline_s * 1e9);
    do {
      const std::uint32_t seen = bell.announce();
      Message message;
      if (at(id).poll(message)) {
        bell.retract();
        const auto expected = static_cast<std::byte>(message.header.index & 0xff);
        for (std::uint32_t i = 0; i < message.header.bytes; ++i) {
          if (message.payload[i] != expected) ADD_FAILURE() << "byte " << i << " is wrong";
        }
        at(id).release(message);
        return message;
      }
      bell.sleep(seen, 0.05);
    } while (monotonic_ns() < end);
    return std::nullopt;
  }

  TcpTransport::Settings settings_ = [] {
    TcpTransport::Settings settings;
    settings.secret = *Secret::fresh();
    settings.job = 9;
    return settings;
  }();
  std::mutex mutex_;
  std::map<MemberId, std::string> addresses_;  // under mutex_
  std::map<MemberId, std::unique_ptr<Member>> members_;
};

TEST_F(TcpTransportTest, DeliversMessagesOfAllSizes) {
  for (const bool encrypt : {false, true}) {
    settings_.options.encrypt = encrypt;
    members_.clear();
    start(2);
    EXPECT_EQ(at(0).counts().connections, 0U) << "made before it was needed";
    const std::vector<std::uint32_t> sizes = {0, 1, 63, 64, 1000, 65536, 100'000, 1 << 20};
    for (std::uint32_t i = 0; i < sizes.size(); ++i) ASSERT_TRUE(send(0, {1}, i, sizes[i]));
    std::set<std::uint32_t> seen;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto message = receive(1);
      ASSERT_TRUE(message.has_value()) << "only " << i << " messages came";
      EXPECT_EQ(message->from, 0U);
      EXPECT_EQ(message->header.bytes, sizes.at(message->header.index));
      EXPECT_TRUE(seen.insert(message->header.index).second) << "came twice";
    }
    const std::uint64_t total = 1 + 63 + 64 + 1000 + 65536 + 100'000 + (1 << 20);
    EXPECT_EQ(at(0).counts().messages_sent, sizes.size());
    EXPECT_EQ(at(0).counts().bytes_sent, total);
    EXPECT_EQ(at(1).counts().messages_received, sizes.size());
    EXPECT_EQ(at(1).counts().bytes_received, total);
    // The answer takes the connections that are there.
    ASSERT_TRUE(send(1, {0}, 5, 10));
    EXPECT_TRUE(receive(0).has_value());
    EXPECT_LE(at(1).counts().connections, 2U);
  }
}

TEST_F(TcpTransportTest, DeliversWhenBothConnectAtOnce) {
  start(2);
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(send(0, {1}, i, 5000));
    ASSERT_TRUE(send(1, {0}, i, 5000));
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(receive(0).has_value());
    ASSERT_TRUE(receive(1).has_value());
  }
}

TEST_F(TcpTransportTest, OneMessageGoesToMany) {
  start(4);
  for (std::uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(send(0, {1, 2, 3}, i, 100'000));
  for (const MemberId id : {1, 2, 3}) {
    std::set<std::uint32_t> seen;
    for (int i = 0; i < 20; ++i) {
      const auto message = receive(id);
      ASSERT_TRUE(message.has_value());
      seen.insert(message->header.index);
    }
    EXPECT_EQ(seen.size(), 20U);
  }
  EXPECT_EQ(at(0).counts().messages_sent, 60U);
}

TEST_F(TcpTransportTest, CreditBoundsWhatWaitsAndTheDoorbellRingsForRoom) {
  settings_.credit_bytes = 1 << 20;
  start(1);
  // Somebody listens there but never answers, so that nothing is ever written.
  const auto silent = open_listening("127.0.0.1:0");
  addresses_[1] = fmt::format("127.0.0.1:{}", port_of(*silent));
  int taken = 0;
  const std::vector<MemberId> to = {1};
  std::vector<std::byte*> rooms;
  while (std::byte* room = at(0).reserve(to, 100'000, false).at) {
    rooms.push_back(room);
    ASSERT_LT(++taken, 100);
  }
  EXPECT_EQ(taken, 10);
  Header header;
  header.bytes = 100'000;
  Doorbell bell(&members_[0]->word);
  const std::uint32_t seen = bell.announce();
  for (std::byte* room : rooms) at(0).post(room, to, header);
  at(0).forget(1);  // gives the room back
  EXPECT_TRUE(eventually([&] { return members_[0]->word.rings != seen; }));
  bell.retract();
  close(*silent);
}

TEST_F(TcpTransportTest, ManyMessagesPassThroughASmallCredit) {
  settings_.credit_bytes = 256 << 10;
  settings_.streams = 3;
  start(2);
  constexpr std::uint32_t kCount = 300;
  std::thread sender([&] {
    for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_TRUE(send(0, {1}, i, 200'000));
  });
  std::set<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const auto message = receive(1);
    EXPECT_TRUE(message.has_value()) << i;
    if (!message) break;
    seen.insert(message->header.index);
  }
  sender.join();
  EXPECT_EQ(seen.size(), kCount);
}

TEST_F(TcpTransportTest, ASlowReaderHoldsTheSenderBack) {
  start(2);
  std::atomic<int> sent = 0;
  constexpr int kCount = 150;  // more than inbox, sockets and credit hold together
  std::thread sender([&] {
    for (std::uint32_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(send(0, {1}, i, 1 << 20));
      ++sent;
    }
  });
  EXPECT_TRUE(eventually([&] { return at(1).counts().bytes_received >= (60 << 20); }));
  EXPECT_FALSE(eventually([&] { return sent == kCount; }, 0.3));
  int received = 0;
  while (received < kCount && receive(1).has_value()) ++received;
  sender.join();
  EXPECT_EQ(received, kCount);
}

TEST_F(TcpTransportTest, ADeadMemberIsNoticedAndItsMessagesGoNowhere) {
  start(3);
  ASSERT_TRUE(send(0, {1, 2}, 1, 100));
  ASSERT_TRUE(receive(1).has_value());
  ASSERT_TRUE(receive(2).has_value());
  const std::int64_t start_ns = monotonic_ns();
  members_.erase(1);
  EXPECT_TRUE(members_[0]->lost.wait("1 confirmed"));
  EXPECT_LT(monotonic_ns() - start_ns, 1'000'000'000);
  // Far more than the credit: it is given back although nothing is written.
  for (std::uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(send(0, {1, 2}, i, 1 << 20));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(receive(2).has_value());
  EXPECT_EQ(members_[0]->lost.lines().size(), 2U) << "told more than once";
}

TEST_F(TcpTransportTest, ADeathInTheMiddleOfTheStreamIsHarmless) {
  for (int round = 0; round < 5; ++round) {
    members_.clear();
    start(2);
    for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(send(0, {1}, i, 1 << 20));
    ASSERT_TRUE(round % 2 == 1 || receive(1).has_value());
    members_.erase(round < 3 ? 1 : 0);
    for (std::uint32_t i = 0; round < 3 && i < 10; ++i) ASSERT_TRUE(send(0, {1}, i, 1 << 20));
  }
}

TEST_F(TcpTransportTest, AMemberThatCannotBeReachedIsLost) {
  settings_.connect_s = 0.2;
  start(2);
  members_.erase(1);  // its address is still known
  ASSERT_TRUE(send(0, {1}, 0, 100));
  EXPECT_TRUE(members_[0]->lost.wait("1 confirmed"));
}

TEST_F(TcpTransportTest, ForgottenMembersLeaveNoMessagesAndNoEvents) {
  start(2);
  for (std::uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(send(0, {1}, i, 1000));
  EXPECT_TRUE(eventually([&] { return at(1).counts().messages_received == 5; }));
  at(1).forget(0);
  EXPECT_FALSE(receive(1, 0.1).has_value());
  EXPECT_TRUE(members_[0]->lost.wait("1 confirmed"));
  EXPECT_TRUE(members_[1]->lost.lines().empty());
  ASSERT_TRUE(send(1, {0}, 0, 10));  // goes nowhere
}

TEST_F(TcpTransportTest, ATrueMemberAtAWrongAddressIsNotMistaken) {
  start(3);
  addresses_[1] = addresses_[2];
  ASSERT_TRUE(send(0, {1}, 0, 100));
  EXPECT_TRUE(members_[0]->lost.wait("1 unconfirmed"));
  EXPECT_FALSE(receive(2, 0.05).has_value());
}

// Whoever knows the secret may still send nonsense.
TEST_F(TcpTransportTest, WrongMessagesEndTheConnection) {
  start(1);
  const auto reactor = std::move(Reactor::start()).value();
  Header lying;
  lying.bytes = 7;
  std::string lie(sizeof lying, '\0');
  std::memcpy(lie.data(), &lying, sizeof lying);
  const struct {
    const char* what;
    MemberId label;
    std::uint16_t kind;
    std::string body;
    const char* reason;
  } rows[] = {
      {"too short", 10, 1, "short", "is no message"},
      {"of an unknown kind", 11, 2, lie, "is no message"},
      {"with a wrong length", 12, 1, lie, "says that it has 7"},
      {"too long", 13, 1, std::string(sizeof lying + (1 << 20) + 1, 'x'), "over"},
  };
  for (const auto& row : rows) {
    {
      const std::lock_guard lock(mutex_);
      addresses_[row.label] = "127.0.0.1:1";
    }
    Connection::Settings settings = test_settings(settings_.secret, fmt::format("{}", row.label));
    settings.identity.job = settings_.job;
    Log log;
    const auto connection = Connection::connect(*reactor, *resolve(addresses_[0]), settings,
                                                Purpose::kData, 5, log.events());
    connection->send(row.kind, row.body);
    EXPECT_TRUE(members_[0]->lost.wait(fmt::format("{} unconfirmed", row.label))) << row.what;
    const auto lines = members_[0]->lost.lines();
    EXPECT_THAT(lines.at(lines.size() - 2), HasSubstr(row.reason)) << row.what;
    reactor->call([&] { connection->close(); });
  }
}

TEST_F(TcpTransportTest, StrangersAndThoseWithoutANumberChangeNothing) {
  start(2);
  const SocketAddress where = *resolve(addresses_[1]);
  const auto reactor = std::move(Reactor::start()).value();
  Connection::Settings unknown = test_settings(settings_.secret, "no number");
  unknown.identity.job = settings_.job;
  Log log;
  const auto connection =
      Connection::connect(*reactor, where, unknown, Purpose::kData, 5, log.events());
  std::mt19937_64 random(1);
  for (int i = 0; i < 40; ++i) {
    RawSocket stranger(where);
    std::string bytes(random() % 3000, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (i % 2 == 0) bytes.insert(0, std::string("WEFT\x01\x00", 6));
    stranger.write(bytes);
    if (i % 5 == 0) stranger.reset();
  }
  EXPECT_TRUE(log.wait("closed by the other side"));
  ASSERT_TRUE(send(0, {1}, 3, 1000));
  EXPECT_TRUE(receive(1).has_value());
  EXPECT_EQ(at(1).counts().messages_received, 1U);
  EXPECT_TRUE(members_[1]->lost.lines().empty());
}

TEST(BlockPool, GivesBackWhatWasDroppedByAll) {
  BlockPool pool(1 << 20, 80, 1 << 20);
  Block* a = pool.take(1000);
  a->holds = 2;
  pool.drop(a);
  EXPECT_EQ(pool.held(), 1U);
  pool.drop(a);
  EXPECT_EQ(pool.held(), 0U);
  EXPECT_EQ(pool.take(1104), a);  // the same size: 1024 + 80
  Block* b = pool.take(1105);
  EXPECT_NE(b, a);
  std::memset(b->data(), 1, 1105);
  pool.drop(b);
  pool.drop(a);
  Block* most = pool.take((1 << 20) + 80);
  std::memset(most->data(), 1, (1 << 20) + 80);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(most->data()) % 64, 0U);
  pool.drop(most);
}

}  // namespace
}  // namespace weft::runtime

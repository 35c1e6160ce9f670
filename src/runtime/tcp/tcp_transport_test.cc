#include "runtime/tcp/tcp_transport.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <random>
#include <set>

#include "base/stopwatch.h"
#include "runtime/net/connection_testing.h"
#include "runtime/wire_transport_testing.h"

namespace weft::runtime {
namespace {

using testing::HasSubstr;

class TcpTransportTest : public testing::Test, protected WireMembers {
 protected:
  TcpTransportTest()
      : WireMembers([](Reactor& reactor, Doorbell bell, WireSettings wire) {
          return open_tcp(reactor, bell, std::move(wire), {});
        }) {}
};

TEST_F(TcpTransportTest, CreditBoundsWhatWaitsAndTheDoorbellRingsForRoom) {
  credit_bytes_ = 1 << 20;
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
      {"of an unknown kind", 11, 3, lie, "is no message"},
      {"with a wrong length", 12, 1, lie, "says that it has 7"},
      {"too long", 13, 1, std::string(sizeof lying + (1 << 20) + 1, 'x'), "over"},
  };
  for (const auto& row : rows) {
    {
      const std::lock_guard lock(mutex_);
      addresses_[row.label] = "127.0.0.1:1";
    }
    Connection::Settings settings = test_settings(secret_, fmt::format("{}", row.label));
    settings.identity.job = kJob;
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
  Connection::Settings unknown = test_settings(secret_, "no number");
  unknown.identity.job = kJob;
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

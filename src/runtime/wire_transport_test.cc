// What every transport between hosts does, whatever it is made of.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "runtime/net/connection_testing.h"
#include "runtime/tcp/tcp_transport.h"
#include "runtime/ucx/ucx_transport.h"
#include "runtime/wire_transport_testing.h"

namespace weft::runtime {
namespace {

struct Wire {
  const char* name;
  WireMembers::Open open;
};

std::vector<Wire> wires() {
  std::vector<Wire> built = {
      {"Tcp", [](Reactor& reactor, Doorbell bell,
                 WireSettings wire) { return open_tcp(reactor, bell, std::move(wire), {}); }},
      {"TcpEncrypted",
       [](Reactor& reactor, Doorbell bell, WireSettings wire) {
         TcpTransport::Settings settings;
         settings.options.encrypt = true;
         settings.streams = 3;
         return open_tcp(reactor, bell, std::move(wire), settings);
       }},
  };
  if (ucx_built()) built.push_back({"Ucx", open_ucx});
  return built;
}

class WireTransportTest : public testing::TestWithParam<Wire>, protected WireMembers {
 protected:
  WireTransportTest() : WireMembers(GetParam().open) {}
};
INSTANTIATE_TEST_SUITE_P(All, WireTransportTest, testing::ValuesIn(wires()),
                         [](const auto& p) { return std::string(p.param.name); });

TEST_P(WireTransportTest, DeliversMessagesOfAllSizes) {
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
  EXPECT_LE(at(1).counts().connections, 3U);
}

TEST_P(WireTransportTest, DeliversWhenBothConnectAtOnce) {
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

TEST_P(WireTransportTest, OneMessageGoesToMany) {
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

TEST_P(WireTransportTest, ManyMessagesPassThroughASmallCredit) {
  credit_bytes_ = 256 << 10;
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

TEST_P(WireTransportTest, ASlowReaderHoldsTheSenderBack) {
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

TEST_P(WireTransportTest, ADeadMemberIsNoticedAndItsMessagesGoNowhere) {
  start(3);
  ASSERT_TRUE(send(0, {1, 2}, 1, 100));
  ASSERT_TRUE(receive(1).has_value());
  ASSERT_TRUE(receive(2).has_value());
  const std::int64_t start_ns = monotonic_ns();
  members_.erase(1);
  EXPECT_TRUE(loses(0, 1));
  EXPECT_LT(monotonic_ns() - start_ns, 1'000'000'000);
  // Far more than the credit: it is given back although nothing is written.
  for (std::uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(send(0, {1, 2}, i, 1 << 20));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(receive(2).has_value());
  EXPECT_EQ(members_[0]->lost.lines().size(), 2U) << "told more than once";
}

TEST_P(WireTransportTest, ADeathInTheMiddleOfTheStreamIsHarmless) {
  for (int round = 0; round < 5; ++round) {
    members_.clear();
    start(2);
    for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(send(0, {1}, i, 1 << 20));
    ASSERT_TRUE(round % 2 == 1 || receive(1).has_value());
    members_.erase(round < 3 ? 1 : 0);
    for (std::uint32_t i = 0; round < 3 && i < 10; ++i) ASSERT_TRUE(send(0, {1}, i, 1 << 20));
  }
}

TEST_P(WireTransportTest, AMemberThatCannotBeReachedIsLost) {
  start(2);
  members_.erase(1);  // its address is still known
  ASSERT_TRUE(send(0, {1}, 0, 100));
  EXPECT_TRUE(loses(0, 1));
}

TEST_P(WireTransportTest, ForgottenMembersLeaveNoMessagesAndNoEvents) {
  start(2);
  for (std::uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(send(0, {1}, i, 1000));
  EXPECT_TRUE(eventually([&] { return at(1).counts().messages_received == 5; }));
  at(1).forget(0);
  EXPECT_FALSE(receive(1, 0.1).has_value());
  EXPECT_TRUE(members_[1]->lost.lines().empty());
  ASSERT_TRUE(send(1, {0}, 0, 10));  // goes nowhere
}

// It has the address and speaks the protocol, and takes the number of a member.
TEST_P(WireTransportTest, WhoDoesNotKnowTheSecretChangesNothing) {
  start(2);
  const Secret ours = std::exchange(secret_, *Secret::fresh());
  const std::string address = addresses_[1];
  start_one(7);
  addresses_[1] = address;
  for (std::uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(send(7, {1}, i, 100'000));
  EXPECT_FALSE(receive(1, 0.2).has_value());
  EXPECT_EQ(at(1).counts().messages_received, 0U);
  secret_ = ours;
  ASSERT_TRUE(send(0, {1}, 3, 1000));
  EXPECT_TRUE(receive(1).has_value());
  EXPECT_TRUE(members_[1]->lost.lines().empty());
}

}  // namespace
}  // namespace weft::runtime

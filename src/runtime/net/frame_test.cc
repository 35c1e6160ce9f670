#include "runtime/net/frame.h"

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

Hello some_hello() {
  Hello hello{.purpose = Purpose::kData, .encrypt = true, .job = 77, .label = "12"};
  hello.nonce.fill(9);
  return hello;
}

Challenge some_challenge() {
  Challenge challenge{.encrypt = false, .label = "a listener"};
  challenge.nonce.fill(3);
  return challenge;
}

template <typename Message>
void expect_round_trip(const Message& message, std::size_t most) {
  const std::string bytes = encode(message);
  EXPECT_LE(bytes.size(), most);
  Message read;
  std::size_t used = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode(view_of(bytes).first(size), read, used), Parse::kMore) << size;
  }
  EXPECT_EQ(decode(view_of(bytes + "more"), read, used), Parse::kDone);
  EXPECT_EQ(used, bytes.size());
  EXPECT_EQ(read, message);
}

TEST(Handshake, IsReadBackWholeAndAsksForMoreWhenCut) {
  expect_round_trip(some_hello(), kMostHelloBytes);
  expect_round_trip(some_challenge(), kMostChallengeBytes);
  Hello longest = some_hello();
  longest.label = std::string(kMostLabelBytes, 'x');
  EXPECT_EQ(encode(longest).size(), kMostHelloBytes);
  expect_round_trip(longest, kMostHelloBytes);
}

struct Fault {
  const char* what;
  std::size_t at;
  char value;
};

TEST(Handshake, RefusesStrangersEarly) {
  const Fault faults[] = {
      {"another protocol", 0, 'G'}, {"another version", 4, 2},    {"an unknown purpose", 6, 3},
      {"an unknown flag", 7, 2},    {"a label too long", 48, 65},
  };
  for (const Fault& fault : faults) {
    std::string bytes = encode(some_hello());
    bytes[fault.at] = fault.value;
    Hello read;
    std::size_t used = 0;
    EXPECT_EQ(decode(view_of(bytes), read, used), Parse::kBad) << fault.what;
  }
  Hello read;
  std::size_t used = 0;
  EXPECT_EQ(decode(view_of("GET / HTTP/1.1"), read, used), Parse::kBad);
}

TEST(Handshake, ProofsDifferByRoleAndByEveryByte) {
  const Secret secret = *Secret::fresh();
  const std::string hello = encode(some_hello()), challenge = encode(some_challenge());
  const Proof connector = connector_proof(secret, hello, challenge);
  EXPECT_NE(connector, listener_proof(secret, hello, challenge));
  for (std::size_t i = 0; i < hello.size(); ++i) {
    std::string other = hello;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_NE(connector, connector_proof(secret, other, challenge)) << i;
  }
}

TEST(Frame, HeaderIsReadBackAndLimited) {
  std::array<std::byte, kFrameHeaderBytes> bytes{};
  const FrameHeader header{.kind = 0x1234, .length = 1000};
  encode(header, bytes);
  EXPECT_EQ(decode_frame(bytes, 1000), header);
  EXPECT_EQ(decode_frame(bytes, 999), std::nullopt);
  bytes[2] = std::byte{1};
  EXPECT_EQ(decode_frame(bytes, 1000), std::nullopt);
}

}  // namespace
}  // namespace weft::runtime

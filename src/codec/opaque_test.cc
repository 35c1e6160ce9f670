// Opaque codecs as their users see them: values worked out by hand, means, and hostile bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "codec/codecs.h"
#include "codec/envelope.h"
#include "codec/ranks_testing.h"

namespace weft::codec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Opaque, ValuesWorkedOutByHand) {
  struct Row {
    const char* why;
    const char* codec;
    std::vector<float> values, want;
  };
  const float third = 1.0F / 3;
  for (const Row& row : std::vector<Row>{
           {"nothing changes", "none", {1, -2.5F, third}, {1, -2.5F, third}},
           {"11 bits; ties to even", "fp16", {2049, 2051, -1.5F}, {2048, 2052, -1.5F}},
           {"the least denormal half", "fp16", {0x1p-24F, 0x1p-25F}, {0x1p-24F, 0}},
           {"8 bits; ties to even", "bf16", {257, 259, 1e-40F}, {256, 260, 0x1p-133F}},
           {"steps of 1 when the largest is 127",
            "int8:ef=0",
            {127, 1.4F, 2.5F, -3.6F},
            {127, 1, 2, -4}},
           {"steps of 1 when the largest is 7", "int4:ef=0", {7, 1.4F, 2.5F, -3.6F}, {7, 1, 2, -4}},
           {"3 bits after the point of 448",
            "fp8:ef=0",
            {448, 17, 1.0F / 512, -0.4F},
            {448, 16, 1.0F / 512, -0.40625F}},
           {"2 bits after the point of 57344",
            "fp8:format=e5m2,ef=0",
            {57344, 9, -1.3F},
            {57344, 8, -1.25F}},
           {"to the nearer of -7, 0, 7",
            "terngrad:round=nearest",
            {7, 3.4F, 3.6F, -5},
            {7, 0, 7, -7}},
           {"of 127 levels of the norm 10: 76.2 and 101.6",
            "qsgd:round=nearest",
            {6, 8, 0},
            {76 * (10 / 127.0F), 102 * (10 / 127.0F), 0}},
           {"nearer power of two", "natural:round=nearest", {1.4F, 1.5F, -3.1F, 0}, {1, 2, -4, 0}},
           {"a vote", "sign", {0.1F, -9, 0}, {1, -1, 1}},
           {"the mean magnitude is 3", "efsign:ef=0", {1, -2, 6}, {3, -3, 3}},
           {"means 2 and -5", "onebit:ef=0", {1, 3, -4, -6}, {2, 2, -5, -5}},
           {"two largest of four", "topk:rate=0.5,exact=1", {1, -5, 3, 2}, {0, -5, 3, 0}},
           {"ties go to the first", "topk:rate=0.5,exact=1", {2, 2, 2, 2}, {2, 2, 0, 0}},
           {"zeros are not sent", "topk:rate=1,exact=1", {0, 0, 4}, {0, 0, 4}},
           {"from 3 on", "threshold:at=3", {2.9F, 3, -3.5F}, {0, 3, -3.5F}},
           {"twice a value reaches the largest", "adacomp:bin=8", {4, 2, 1.9F, -3}, {4, 2, 0, -3}},
           {"chosen, then in steps of 1",
            "topk:rate=0.5,exact=1+int8",
            {127, 3.4F, 1, 2},
            {127, 3, 0, 0}}}) {
    SCOPED_TRACE(row.why);
    const auto codec = must_make(row.codec);
    const std::vector<float> got = through(*codec->opaque(), row.values);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_FLOAT_EQ(got[i], row.want[i]) << i;
  }
}

TEST(Opaque, WhatAFormatCannotHoldIsRefused) {
  for (const auto& [name, value] : {std::pair{"fp16", 65520.0F},
                                    {"bf16", 3.4e38F},
                                    {"int8", 1e38F},
                                    {"qsgd", 1e18F},
                                    {"efsign", 1e36F}}) {
    SCOPED_TRACE(name);
    TestRanks ranks(name, 1, 3);
    const auto sum = ranks.sum({{1, value, 2}});
    ASSERT_FALSE(sum.ok());
    EXPECT_THAT(sum.error().what, HasSubstr("value 1 is"));
    EXPECT_THAT(sum.error().what, HasSubstr("magnitudes below"));
  }
}

// Random rounding is right on average: the mean over many steps comes near, as fast as independent
// draws would.
TEST(Opaque, RandomRoundingIsUnbiased) {
  for (const char* name : {"qsgd", "qsgd:bits=4", "qsgd:bits=2", "terngrad", "natural",
                           "int8:round=random,ef=0", "int4:round=random,ef=0"}) {
    SCOPED_TRACE(name);
    const auto codec = must_make(name);
    const OpaqueCodec& opaque = *codec->opaque();
    Random random(4);
    std::vector<float> values(256), out(256);
    for (float& x : values) x = static_cast<float>(random.normal());
    CodecState state = opaque.make_state(values.size(), {});
    std::vector<std::byte> bytes(opaque.most_bytes(values.size()));
    std::vector<double> sum(256), squares(256);
    constexpr int kSteps = 4000;
    for (int step = 0; step < kSteps; ++step, ++state.step) {
      ASSERT_TRUE(opaque.encode(values, 0, state, bytes).ok());
      ASSERT_TRUE(opaque.decode(bytes, out).ok());
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double error = static_cast<double>(out[i]) - static_cast<double>(values[i]);
        sum[i] += error;
        squares[i] += error * error;
      }
    }
    double off = 0;  // mean squared error in units of what chance allows
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (squares[i] > 1e-10) off += sum[i] * sum[i] / squares[i] / 256;
    }
    EXPECT_LT(off, 1.6);
  }
}

TEST(Opaque, HostileBytesAreRefused) {
  Random random(6);
  for (const CodecHelp& help : codec_list()) {
    const auto codec = must_make(help.name);
    if (codec->opaque() == nullptr) continue;
    SCOPED_TRACE(help.name);
    const OpaqueCodec& opaque = *codec->opaque();
    std::vector<float> values(1500), out(1500), sum(1500);
    for (float& x : values) x = static_cast<float>(random.normal());
    CodecState state = opaque.make_state(values.size(), {});
    std::vector<std::byte> bytes(opaque.most_bytes(values.size()));
    bytes.resize(*opaque.encode(values, 0, state, bytes));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(opaque.decode(std::span(bytes).first(size), out).ok()) << size;
    }
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(opaque.decode(longer, out).ok());
    for (std::size_t i = 0; i < kEnvelopeBytes; ++i) {
      std::vector<std::byte> other = bytes;
      other[i] ^= std::byte{0x41};
      EXPECT_FALSE(opaque.decode(other, out).ok()) << i;
      EXPECT_FALSE(opaque.decode_add(other, sum).ok()) << i;
    }
    EXPECT_FALSE(opaque.decode(bytes, std::span(out).first(1499)).ok());
    // Whatever the rest says, what is decoded is finite or refused.
    for (int round = 0; round < 300; ++round) {
      std::vector<std::byte> other = bytes;
      for (int i = 0; i < 8; ++i) {
        other[kEnvelopeBytes + random.below(other.size() - kEnvelopeBytes)] =
            static_cast<std::byte>(random.next());
      }
      if (!opaque.decode(other, out).ok()) continue;
      for (const float x : out) ASSERT_TRUE(std::isfinite(x));
    }
  }
}

// A scale that says infinity, and an offset that leads out of the last chunk.
TEST(Opaque, BrokenScalesAndOffsetsAreNamed) {
  const auto int8 = must_make("int8");
  std::vector<float> values(10, 1.0F), out(10);
  CodecState state = int8->make_state(10, {});
  std::vector<std::byte> bytes(int8->opaque()->most_bytes(10));
  ASSERT_TRUE(int8->opaque()->encode(values, 0, state, bytes).ok());
  store_as(std::numeric_limits<float>::infinity(), bytes.data() + kEnvelopeBytes);
  EXPECT_THAT(int8->opaque()->decode(bytes, out).error().what, HasSubstr("out of range"));

  const auto topk = must_make("topk:rate=0.2,exact=1");
  state = topk->make_state(10, {});
  bytes.resize(topk->opaque()->most_bytes(10));
  ASSERT_TRUE(topk->opaque()->encode(values, 0, state, bytes).ok());
  store_as<std::uint16_t>(10, bytes.data() + kEnvelopeBytes + 4 + 2);
  EXPECT_THAT(topk->opaque()->decode(bytes, out).error().what, HasSubstr("at 10"));
  store_as<std::uint16_t>(0, bytes.data() + kEnvelopeBytes + 4 + 2);  // the same place twice
  EXPECT_THAT(topk->opaque()->decode(bytes, out).error().what, HasSubstr("at 0"));
}

TEST(Opaque, SampledTopKSendsAboutItsShare) {
  const auto codec = must_make("topk:rate=0.01");
  const std::size_t size = 1 << 20;
  Random random(8);
  std::vector<float> values(size);
  for (float& x : values) x = static_cast<float>(random.normal());
  CodecState state = codec->make_state(size, {});
  std::vector<std::byte> bytes(codec->opaque()->most_bytes(size));
  std::vector<float> out(size);
  bytes.resize(*codec->opaque()->encode(values, 0, state, bytes));
  ASSERT_TRUE(codec->opaque()->decode(bytes, out).ok());
  std::size_t sent = 0;
  float least = 100, most_left = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (out[i] == 0) most_left = std::max(most_left, std::abs(values[i]));
    if (out[i] == 0) continue;
    ++sent;
    least = std::min(least, std::abs(values[i]));
    EXPECT_EQ(state.residual(i, 1).at(0), 0.0F);
  }
  EXPECT_NEAR(static_cast<double>(sent), 0.01 * size, 0.0015 * size);
  EXPECT_GE(least, most_left);
  EXPECT_LT(bytes.size(), 4 * size / 60);
}

// Equal values: far more reach the threshold than were asked for, and twice the share goes.
TEST(Opaque, SampledTopKNeverSendsMoreThanTwiceItsShare) {
  const auto codec = must_make("topk:rate=0.01");
  std::vector<float> values(100000, -1.0F), out(100000);
  CodecState state = codec->make_state(values.size(), {});
  std::vector<std::byte> bytes(codec->opaque()->most_bytes(values.size()));
  bytes.resize(*codec->opaque()->encode(values, 0, state, bytes));
  ASSERT_TRUE(codec->opaque()->decode(bytes, out).ok());
  EXPECT_EQ(std::count(out.begin(), out.end(), -1.0F), 2000);
  const std::vector<float> left = widened(state).local[0];
  EXPECT_EQ(std::count(left.begin(), left.end(), -1.0F), 98000);
}

// Large outputs go around the caches, by another loop.
TEST(Opaque, LargeSparseBuffersAreReadAndCheckedAlike) {
  const auto codec = must_make("topk:rate=0.01");
  const std::size_t size = 300001;
  Random random(4);
  std::vector<float> values(size), out(size, 7.0F), sum(size);
  for (float& x : values) x = static_cast<float>(random.normal());
  CodecState state = codec->make_state(size, {});
  std::vector<std::byte> bytes(codec->opaque()->most_bytes(size));
  bytes.resize(*codec->opaque()->encode(values, 0, state, bytes));
  ASSERT_TRUE(codec->opaque()->decode(bytes, out).ok());
  ASSERT_TRUE(codec->opaque()->decode_add(bytes, sum).ok());
  EXPECT_EQ(out, sum);
  const std::size_t counts = (size + 65535) / 65536;
  std::byte* offsets = bytes.data() + kEnvelopeBytes + counts * 4;
  const auto second = load_as<std::uint16_t>(offsets + 2);
  for (const std::uint16_t wrong : {load_as<std::uint16_t>(offsets), std::uint16_t{65535}}) {
    store_as<std::uint16_t>(wrong, offsets + 2);
    EXPECT_THAT(codec->opaque()->decode(bytes, out).error().what, HasSubstr("chunk 0 has value"));
  }
  store_as<std::uint16_t>(second, offsets + 2);
  store_as<float>(NAN, bytes.data() + bytes.size() - 4);
  EXPECT_THAT(codec->opaque()->decode(bytes, out).error().what, HasSubstr("chunk 4 has value nan"));
}

// The carrier refuses what was chosen: nothing has been sent, so the state is as before.
TEST(Opaque, AFailureOfTheCarrierLeavesTheStateAsItWas) {
  for (const char* name :
       {"topk:rate=0.25,exact=1+fp16", "topk:rate=0.25+fp16", "threshold:at=6.5+fp16",
        "adacomp:bin=8+fp16", "dgc:rate=0.25+fp16", "dgc:rate=0.25,masking=1,momentum=0.5+fp16",
        "dgc:rate=0.25,clip=2000000+fp16"}) {
    SCOPED_TRACE(name);
    const auto codec = must_make(name);
    const OpaqueCodec& opaque = *codec->opaque();
    CodecState state = codec->make_state(8, {});
    std::vector<std::byte> bytes(opaque.most_bytes(8));
    const std::vector<float> first = {8, 7, 6, 5, 4, 3, 2, 1};
    ASSERT_TRUE(opaque.encode(first, 0, state, bytes).ok());
    const CodecState before = state;
    const std::vector<float> larger = {0, 0, 1e6F, 2e6F, 0, 0, 0, 0};
    const auto refused = opaque.encode(larger, 0, state, bytes);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().what, HasSubstr("value 2 with what was kept is"));
    EXPECT_THAT(refused.error().what, HasSubstr("; this codec sends magnitudes below 65520"));
    for (std::size_t v = 0; v < before.local.size(); ++v) {
      for (std::size_t i = 0; i < 8; ++i) {
        // What was added and taken again were millions.
        EXPECT_NEAR(state.local[v][i], before.local[v][i], larger[i] > 0 ? 0.3F : 1e-6F)
            << v << " " << i;
      }
    }
    EXPECT_TRUE(opaque.encode(first, 0, state, bytes).ok());
  }
}

// Residual and velocity are finite, their sum is not.
TEST(Opaque, AnOverflowInDgcLeavesTheStateAsItWas) {
  const auto codec = must_make("dgc:rate=0.25,masking=1");
  const std::size_t size = 70000;  // in its second chunk
  CodecState state = codec->make_state(size, {});
  Random random(5);
  for (auto& vector : state.local) {
    for (float& x : vector) x = static_cast<float>(random.normal());
  }
  state.local[0][69000] = state.local[1][69000] = 3e38F;
  const CodecState before = state;
  std::vector<float> values(size);
  for (float& x : values) x = static_cast<float>(random.normal());
  std::vector<std::byte> bytes(codec->opaque()->most_bytes(size));
  const auto refused = codec->opaque()->encode(values, 0, state, bytes);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what, HasSubstr("value 69000"));
  for (std::size_t v = 0; v < 2; ++v) {
    for (std::size_t i = 0; i < size; ++i) {
      const float was = before.local[v][i];
      ASSERT_NEAR(state.local[v][i], was, 2e-6F * std::max(1.0F, std::abs(was))) << v << " " << i;
    }
  }
}

// Momentum correction: what is sent late has gathered momentum meanwhile. Masked, sent values
// forget theirs.
TEST(Opaque, MaskedDgcFollowsItsRule) {
  const auto codec = must_make("dgc:rate=0.5,momentum=0.5,masking=1");
  CodecState state = codec->make_state(2, {});
  std::vector<std::byte> bytes(codec->opaque()->most_bytes(2));
  std::vector<float> out(2);
  const std::vector<float> values = {4, 1};
  const auto step = [&] {
    const auto used = codec->opaque()->encode(values, 0, state, bytes);
    EXPECT_TRUE(codec->opaque()->decode(std::span(bytes).first(*used), out).ok());
    ++state.step;
  };
  step();
  EXPECT_THAT(out, ElementsAre(4, 0));
  EXPECT_THAT(state.local[0], ElementsAre(0, 1));
  EXPECT_THAT(state.local[1], ElementsAre(0, 1));
  step();  // the second has velocity 0.5 + 1 and residual 2.5
  EXPECT_THAT(out, ElementsAre(4, 0));
  EXPECT_THAT(state.local[0], ElementsAre(0, 2.5F));
  step();  // velocity 1.75, residual 4.25: its turn
  EXPECT_THAT(out, ElementsAre(0, 4.25F));
  EXPECT_THAT(state.local[1], ElementsAre(4, 0));
}

// With a rate of 1 nothing is held back, and it is SGD with momentum, to the bit.
TEST(Opaque, DgcThatSendsAllIsMomentum) {
  TestRanks ranks("dgc:rate=1,momentum=0.5", 2, 3);
  const std::vector<std::vector<float>> gradients = {{4, 1, -2}, {2, 1, 2}};
  EXPECT_THAT(*ranks.sum(gradients), ElementsAre(6, 2, 0));
  EXPECT_THAT(*ranks.sum(gradients), ElementsAre(9, 3, 0));
  EXPECT_THAT(*ranks.sum(gradients), ElementsAre(10.5F, 3.5F, 0));
}

// Ranks that choose different values: all of them come back in the same step, also while the share
// is larger than the rate.
TEST(Opaque, WhatDgcRanksChooseComesBackAtOnce) {
  constexpr std::size_t kSize = 4000;
  for (const auto& [text, chosen] : {std::pair{"dgc:rate=0.01,momentum=0", 10},
                                     std::pair{"dgc:rate=0.01,momentum=0,warmup=100", 250}}) {
    TestRanks ranks(text, 4, kSize);
    std::vector<std::vector<float>> gradients(4, std::vector<float>(kSize));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      for (std::size_t i = 0; i < kSize; ++i) {
        const bool large = i % 4 == rank && i % 1000 < 4 * static_cast<std::size_t>(chosen);
        gradients[rank][i] = large ? 1.0F : 0.001F;
      }
    }
    const auto sum = ranks.sum(gradients);
    ASSERT_TRUE(sum.ok());
    // Of each of the 4 parts, `chosen` of each rank.
    EXPECT_EQ(std::count(sum->begin(), sum->end(), 1.0F), 4 * 4 * chosen) << text;
  }
}

TEST(Opaque, DgcWarmsUpAndClips) {
  const auto codec = must_make("dgc:rate=0.01,warmup=10,momentum=0,clip=1");
  const std::size_t size = 40000;
  Random random(2);
  std::vector<float> values(size), out(size);
  for (float& x : values) x = static_cast<float>(random.normal());
  std::vector<double> shares;
  double norm = 0;
  for (const std::uint64_t at : {0U, 5U, 10U}) {
    CodecState state = codec->make_state(size, {0, 4, 1});
    state.step = at;
    std::vector<std::byte> bytes(codec->opaque()->most_bytes(size));
    const auto used = codec->opaque()->encode(values, 0, state, bytes);
    ASSERT_TRUE(codec->opaque()->decode(std::span(bytes).first(*used), out).ok());
    shares.push_back(1 - static_cast<double>(std::count(out.begin(), out.end(), 0.0F)) / size);
    for (std::size_t i = 0; at == 0 && i < size; ++i) {
      const double sum = static_cast<double>(out[i] + state.local[0][i]);
      norm += sum * sum;
    }
  }
  EXPECT_NEAR(shares[0], 0.25, 0.01);
  EXPECT_NEAR(shares[1], 0.05, 0.005);
  EXPECT_NEAR(shares[2], 0.01, 0.002);
  EXPECT_NEAR(std::sqrt(norm), 0.5, 1e-4);  // 1 / √4 ranks
}

// With one rank and no loss in one bit (all magnitudes equal) 1-bit Adam is Adam with a frozen
// variance.
TEST(Opaque, OneBitAdamIsAdamWhileItWarmsUp) {
  TestRanks ranks("onebit-adam:warmup=2,beta1=0.5,beta2=0.5", 1, 2);
  const std::vector<std::vector<float>> gradient = {{2, -2}};
  // m = 1, v = 2, both corrected by 1 - 0.5: 2 / √4.
  EXPECT_NEAR((*ranks.sum(gradient))[0], 1, 1e-6);
  EXPECT_NEAR((*ranks.sum(gradient))[1], -1, 1e-6);
  // Frozen: m = 0.5 · 1.5 + 0.5 · 2 = 1.75 over √(3 / 0.75) = 2.
  const auto third = ranks.sum(gradient);
  EXPECT_NEAR((*third)[0], 0.875, 1e-6);
  EXPECT_NEAR((*third)[1], -0.875, 1e-6);
}

}  // namespace
}  // namespace weft::codec

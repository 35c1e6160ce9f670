#include "timing/compression/step_cost.h"

#include <gtest/gtest.h>

#include "timing/compression/menu.h"

namespace weft {
namespace {

using collective::Operation;

// Four ranks on links of 25 MB/s: a ring's all-reduce sends 1.5 times the bytes, an all-to-all and
// an all-gather 0.75 times. "exchange" sends thrice the bytes, without the ring's latency.
class FakeClock : public ExchangeClock {
 public:
  explicit FakeClock(double bytes_per_s = 25e6) : bytes_per_s_(bytes_per_s) {}
  std::vector<ExchangeCost> costs(Operation operation, double bytes) const override {
    if (operation != Operation::kAllReduce) return {cost("ring", 0.75 * bytes, 0.003)};
    return {cost("ring", 1.5 * bytes, 0.006), cost("exchange", 3 * bytes, 0.001)};
  }

 private:
  ExchangeCost cost(const char* algorithm, double sent, Seconds latency) const {
    return {algorithm, latency + sent / bytes_per_s_, sent};
  }
  double bytes_per_s_;
};

const Efficiency kPlain{1, "by definition"};

CodecOffer plain_of(const TrainingStep& step) {
  CodecOffer offer{"none", true, 1, {}, {}, 1, kPlain};
  for (const GradientBucket& bucket : step.buckets) {
    offer.wire_bytes.push_back(bucket.bytes);
    offer.coding.push_back({});
  }
  return offer;
}

CodecOffer coded(const TrainingStep& step, const char* name, double ratio, double coding_share,
                 std::optional<Efficiency> efficiency) {
  CodecOffer offer{name, false, 1, {}, {}, 1, std::move(efficiency)};
  for (const GradientBucket& bucket : step.buckets) {
    offer.wire_bytes.push_back(bucket.bytes / ratio);
    offer.coding.push_back({coding_share * bucket.bytes, 0, 0});
  }
  return offer;
}

const SyncOffer kBsp{"bsp", true, 1, 0, kPlain};

TEST(StepCost, NothingHidesABucketThatIsReadyLast) {
  const TrainingStep step{{{100e6, 0.4}}, 0.5};
  const auto all = predict_steps(step, FakeClock(), {plain_of(step)}, {kBsp});
  ASSERT_EQ(all.size(), 2u);  // an algorithm each
  EXPECT_EQ(all[0].algorithm, "ring");
  EXPECT_DOUBLE_EQ(all[0].exchange_s, 6.006);
  EXPECT_DOUBLE_EQ(all[0].exposed_s, 6.006);
  EXPECT_DOUBLE_EQ(all[0].step_s, 6.506);
  EXPECT_DOUBLE_EQ(all[0].sent_bytes, 150e6);
  EXPECT_EQ(all[1].algorithm, "exchange");
  EXPECT_DOUBLE_EQ(all[1].step_s, 0.5 + 12.001);
}

TEST(StepCost, TheWireTakesOneBucketAfterTheOther) {
  // 2.5 MB: 0.156 s each. The first is over at 0.256; the second is ready at 0.3 and over at 0.456,
  // the third, ready at 0.4, at 0.612: 0.212 after the last gradient.
  const TrainingStep step{{{2.5e6, 0.1}, {2.5e6, 0.3}, {2.5e6, 0.4}}, 0.5};
  const auto all = predict_steps(step, FakeClock(), {plain_of(step)}, {kBsp});
  EXPECT_NEAR(all[0].exposed_s, 0.212, 1e-12);
  EXPECT_NEAR(all[0].step_s, 0.712, 1e-12);
}

TEST(StepCost, CodingIsNotHiddenAndBothWaysAreSent) {
  // Ratio 10: all-to-all and all-gather of 10 MB each, 0.303 s each.
  const TrainingStep step{{{100e6, 0.4}}, 0.5};
  const auto codec = coded(step, "c", 10, 1e-9, Efficiency{0.5, "measured"});
  const auto all = predict_steps(step, FakeClock(), {codec}, {kBsp});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_DOUBLE_EQ(all[0].coding_s, 0.1);
  EXPECT_DOUBLE_EQ(all[0].exchange_s, 0.606);
  EXPECT_DOUBLE_EQ(all[0].step_s, 0.5 + 0.1 + 0.606);
  EXPECT_DOUBLE_EQ(all[0].sent_bytes, 15e6);
  EXPECT_DOUBLE_EQ(all[0].progress_s(), 2 * 1.206);
  EXPECT_EQ(all[0].source, "measured");
}

TEST(StepCost, RoundsOfALinearCodecEachHaveTheirLatency) {
  const TrainingStep step{{{100e6, 0.4}}, 0.5};
  CodecOffer codec = coded(step, "p", 100, 0, kPlain);
  codec.linear = true;
  codec.rounds = 2;
  const auto all = predict_steps(step, FakeClock(), {codec}, {kBsp});
  EXPECT_DOUBLE_EQ(all[0].exchange_s, 2 * (0.006 + 1.5 * 0.5e6 / 25e6));
}

TEST(StepCost, PeriodsDivideAndOverlapHides) {
  const TrainingStep step{{{100e6, 0.4}}, 0.5};
  const SyncOffer every8{"local:period=8", false, 0.125, 0, Efficiency{0.9, "measured"}};
  SyncOffer overlapped = every8;
  overlapped.hidden_steps = 4;
  overlapped.efficiency.reset();
  const auto all = predict_steps(step, FakeClock(), {plain_of(step)}, {every8, overlapped});
  EXPECT_DOUBLE_EQ(all[0].step_s, 0.5 + 6.006 / 8);
  EXPECT_DOUBLE_EQ(*all[0].efficiency, 0.9);
  EXPECT_DOUBLE_EQ(all[0].sent_bytes, 150e6 / 8);
  // What is not known is said not to be, and comes last.
  const auto& last = all[2].sync == overlapped.sync && !all[2].efficiency ? all[2] : all[3];
  EXPECT_FALSE(last.efficiency.has_value());
  EXPECT_EQ(last.progress_s(), kNever);
  EXPECT_DOUBLE_EQ(last.exposed_s, (6.006 - 4 * 0.5) / 8);
}

struct ChoiceCase {
  const char* what;
  double bytes_per_s;
  std::optional<Efficiency> efficiency;
  double worthwhile;
  const char* want;
};

TEST(StepCost, CompressionIsTakenWhereItPays) {
  const TrainingStep step{{{100e6, 0.4}}, 0.5};
  const ChoiceCase cases[] = {
      {"a slow wire", 25e6, kPlain, 0.9, "c"},
      {"a fast wire: coding costs more than it saves", 10e9, kPlain, 0.9, "none"},
      {"nobody knows what it does to training", 25e6, std::nullopt, 0.9, "none"},
      {"a step makes a tenth of the progress", 25e6, Efficiency{0.1, "m"}, 0.9, "none"},
      // 0.5 + 0.1 + 0.015 + 0.006 against 0.5 + 0.15 + 0.006.
      {"too little to be believed", 1e9, kPlain, 0.9, "none"},
      {"a little", 1e9, kPlain, 0.98, "c"},
  };
  for (const ChoiceCase& c : cases) {
    const std::vector<CodecOffer> offers = {plain_of(step),
                                            coded(step, "c", 10, 1e-9, c.efficiency)};
    const auto choice = choose_codecs(step, FakeClock(c.bytes_per_s), offers, c.worthwhile);
    EXPECT_EQ(choice.predicted.codec, c.want) << c.what;
  }
}

TEST(StepCost, OnlyBucketsThatNothingHidesAreCoded) {
  // The first is over before the last is ready, whatever carries it; the last is never hidden.
  const TrainingStep step{{{10e6, 0.1}, {10e6, 2.0}}, 2.5};
  const std::vector<CodecOffer> offers = {plain_of(step),
                                          coded(step, "c", 10, 1e-9, Efficiency{0.9, "m"})};
  // 2.576 s at 0.95 of the progress; with one codec for both 2.586 s at 0.9, plain 3.106 s.
  EXPECT_EQ(choose_codecs(step, FakeClock(), offers, 0.93).codecs,
            (std::vector<std::size_t>{1, 1}));  // a mixture is not worth it
  const auto choice = choose_codecs(step, FakeClock(), offers, 0.96);
  EXPECT_EQ(choice.codecs, (std::vector<std::size_t>{0, 1}));
  EXPECT_DOUBLE_EQ(*choice.predicted.efficiency, 0.95);
  EXPECT_EQ(choice.predicted.codec, "none, c");
  EXPECT_DOUBLE_EQ(choice.predicted.step_s, 2.5 + 0.01 + 0.066);
  EXPECT_DOUBLE_EQ(predict_mixture(step, FakeClock(), offers, {0, 1}).step_s,
                   choice.predicted.step_s);
}

TEST(StepCost, AWireThatLiesIdleBetweenPassesCosts) {
  // One bucket: 0.303 s there, 0.2 s of coding between, 0.303 s back, 0.1 s of coding after.
  const TrainingStep step{{{100e6, 0.4}}, 0.4};
  CodecOffer codec = coded(step, "c", 10, 0, kPlain);
  codec.coding = {{0.1, 0.2, 0.1}};
  EXPECT_NEAR(predict_steps(step, FakeClock(), {codec}, {kBsp})[0].step_s, 0.4 + 0.606 + 0.4, 1e-9);
  // Two halves fill each other's gaps. Both are coded until 0.5; the second is sent until 0.653 and
  // the first until 0.806, each coded for 0.1 meanwhile; sent back until 0.959 and 1.112, and coded
  // for 0.05 more.
  const TrainingStep halves{{{50e6, 0.4}, {50e6, 0.4}}, 0.4};
  codec = coded(halves, "c", 10, 0, kPlain);
  codec.coding = {{0.05, 0.1, 0.05}, {0.05, 0.1, 0.05}};
  EXPECT_NEAR(predict_steps(halves, FakeClock(), {codec}, {kBsp})[0].step_s, 1.162, 1e-9);
}

TEST(StepCost, WhatWasTriedAndFoundSlowerIsBelieved) {
  const TrainingStep step{{{100e6, 0.4}}, 0.5};
  std::vector<CodecOffer> offers = {plain_of(step), coded(step, "c", 10, 1e-9, kPlain)};
  offers[1].slower = 10;
  EXPECT_EQ(choose_codecs(step, FakeClock(), offers, 0.9).predicted.codec, "none");
}

TEST(StepCost, AnEvenStepEndsWithItsLastBucket) {
  const TrainingStep step = even_step(60e6, 0.9);
  ASSERT_EQ(step.buckets.size(), 3u);
  EXPECT_DOUBLE_EQ(step.buckets[0].bytes, 20e6);
  EXPECT_DOUBLE_EQ(step.buckets[0].ready_s, 0.5);
  EXPECT_DOUBLE_EQ(step.buckets[2].ready_s, 0.9);
  EXPECT_TRUE(even_step(0, 1).buckets.empty());
}

TEST(StepCost, NoBucketsCostNothing) {
  const TrainingStep step{{}, 0.5};
  const auto choice = choose_codecs(step, FakeClock(), {plain_of(step)}, 0.9);
  EXPECT_DOUBLE_EQ(choice.predicted.progress_s(), 0.5);
}

TEST(CompressionMenu, OneConfigurationForEachKnownPrediction) {
  const TrainingStep step{{{100e6, 0.4}}, 0.5};
  const std::vector<CodecOffer> offers = {plain_of(step),
                                          coded(step, "c", 10, 1e-9, Efficiency{0.5, "measured"}),
                                          coded(step, "unknown", 100, 0, std::nullopt)};
  const auto all = predict_steps(step, FakeClock(), offers, {kBsp});
  Configuration asked;
  asked.devices = 4;
  asked.rate = 2;
  asked.efficiency = 0.8;
  const auto plain = choose_codecs(step, FakeClock(), {offers[0]}, 1).predicted;
  const Menu menu = compression_menu(asked, plain, all, 4);
  ASSERT_EQ(menu.configurations.size(), 4u);  // as asked; c; none by ring and by exchange
  EXPECT_EQ(menu.configurations[0], asked);
  const Configuration& c = menu.configurations[1];
  EXPECT_EQ(c.codec, "c");
  EXPECT_EQ(c.sync, "bsp");
  EXPECT_EQ(c.collective, "all-to-all, all-gather");
  EXPECT_DOUBLE_EQ(c.rate, 2 * 6.506 / 1.206);
  EXPECT_DOUBLE_EQ(c.efficiency, 0.4);
  EXPECT_EQ(c.traffic.bytes_per_step, 10'000'000);
  EXPECT_DOUBLE_EQ(menu.configurations[2].rate, 2);
  EXPECT_EQ(menu.configurations[2].traffic.bytes_per_step, 100'000'000);
}

TEST(EvenStep, LargeModelsHaveLargerBucketsAndNotMore) {
  EXPECT_EQ(even_step(100e6, 1).buckets.size(), 4u);
  const TrainingStep large = even_step(4e13, 1);
  EXPECT_EQ(large.buckets.size(), std::size_t{kMostMixed});
  EXPECT_DOUBLE_EQ(large.buckets[0].bytes, 4e13 / kMostMixed);
  EXPECT_DOUBLE_EQ(large.buckets.back().ready_s, 1);
}

}  // namespace
}  // namespace weft

#include "runtime/compress/automatic.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/codecs.h"

namespace weft::runtime {
namespace {

GroupShape hosts(int ranks, double bytes_per_s) {
  GroupShape shape;
  shape.ranks = ranks;
  shape.one_host = false;
  shape.links.other_host = {1e-4, bytes_per_s};
  return shape;
}

AutomaticQuestion question_of(double parameters, Seconds compute_s, std::optional<bool> adaptive) {
  AutomaticQuestion question;
  question.step = even_step(4 * parameters, compute_s);
  question.ranks = 4;
  question.codecs = usual_coding();
  question.modes = {"bsp"};
  question.adaptive = adaptive;
  return question;
}

TEST(Automatic, NoneOnFastLinksAndACodecOnSlowOnes) {
  const auto question = question_of(25e6, 0.4, false);
  const auto fast = choose_automatically(question, clock_of(hosts(4, 50e9)));
  EXPECT_EQ(fast->predicted.codec, "none");
  const auto slow = choose_automatically(question, clock_of(hosts(4, 25e6)));
  EXPECT_NE(slow->predicted.codec, "none");
  EXPECT_LT(slow->predicted.step_s, 0.3 * slow->plain.step_s);
  EXPECT_EQ(slow->codecs.size(), question.step.buckets.size());
}

TEST(Automatic, EveryBucketHasItsAlgorithmAndSlices) {
  const auto question = question_of(25e6, 0.4, false);
  const auto slow = choose_automatically(question, clock_of(hosts(4, 25e6)));
  ASSERT_EQ(slow->exchanges.size(), slow->codecs.size());
  EXPECT_EQ(slow->plain.algorithm, "ring");
  EXPECT_FALSE(slow->predicted.algorithm.empty());
  const auto fast = choose_automatically(question, clock_of(hosts(4, 50e9)));
  EXPECT_GT(fast->exchanges[0].slice_bytes, 0);
  const auto json = nlohmann::json::parse(to_json(*fast));
  EXPECT_EQ(json.at("algorithms").size(), 4u);
  EXPECT_EQ(json.at("slice_bytes")[0], fast->exchanges[0].slice_bytes);
  // PowerSGD's factors are small: on slow links not by an exchange, which sends twice as much.
  auto factors = question;
  factors.codecs = {question.codecs.back()};
  const auto low_rank = choose_automatically(factors, clock_of(hosts(4, 25e6)));
  EXPECT_EQ(low_rank->codecs[0], "powersgd:rank=4");
  EXPECT_NE(low_rank->exchanges[0].algorithm, "exchange");
}

TEST(Automatic, APlainStepIsBoundByTheWire) {
  // 100 MB by ring between four: 1.5 times as much at 25 MB/s.
  const auto answer = choose_automatically(question_of(25e6, 0.4, {}), clock_of(hosts(4, 25e6)));
  EXPECT_NEAR(answer->plain.exchange_s, 6.0, 0.1);
  EXPECT_NEAR(answer->plain.sent_bytes, 150e6, 1);
}

TEST(Automatic, WhatHelpsWithOneOptimizerMayNotWithAnother) {
  const auto clock = clock_of(hosts(4, 25e6));
  const auto sgd = choose_automatically(question_of(25e6, 0.4, false), clock);
  const auto adam = choose_automatically(question_of(25e6, 0.4, true), clock);
  EXPECT_GT(*sgd->predicted.efficiency, *adam->predicted.efficiency);
  const auto onebit = [](const AutomaticAnswer& answer) {
    for (const StepPrediction& one : answer.considered) {
      if (one.codec == "onebit") return one.progress_s();
    }
    return kNever;
  };
  EXPECT_LT(onebit(*sgd), 0.6 * onebit(*adam));
}

TEST(Automatic, ModesOfParametersAreTakenWhereTheyPay) {
  auto question = question_of(25e6, 0.4, true);
  question.modes = automatic_modes();
  question.codecs.resize(1);  // plain values only: the period is all that can be chosen
  const auto answer = choose_automatically(question, clock_of(hosts(4, 6e6)));
  EXPECT_EQ(answer->mode.substr(0, 5), "local");
  ASSERT_EQ(answer->codecs.size(), 1u);
  EXPECT_NE(in_words(*answer).find(answer->mode), std::string::npos);
}

// The bytes that PowerSGD sends hang on the matrices: four of 2500 rows and columns and a vector
// each.
TEST(Automatic, ShapesSayWhatLowRankCodecsSend) {
  const std::size_t rows = 2500, values = 4 * (rows * rows + rows);
  auto question = question_of(static_cast<double>(values), 0.4, {});
  question.step.buckets.resize(1);
  question.step.buckets[0].bytes = 4.0 * static_cast<double>(values);
  question.codecs = {{"none", {}, 1}, {"powersgd:rank=4", {}, 1}};
  const auto sent = [&] {
    const auto answer = choose_automatically(question, clock_of(hosts(4, 6e6)));
    EXPECT_EQ(answer->codecs, std::vector<std::string>{"powersgd:rank=4"});
    return answer->predicted.sent_bytes;
  };
  const double unknown = sent();
  auto& matrices = question.matrices.emplace_back();
  for (std::size_t k = 0; k < 4; ++k) matrices.push_back({k * (rows * rows + rows), rows, rows});
  EXPECT_NEAR(sent(), 1.5 * 4 * 4 * (4 * 2 * rows + rows), 1e3);  // factors and vectors, by ring
  EXPECT_LT(unknown, 0.5 * sent());
}

TEST(Automatic, UnknownNamesAreErrors) {
  auto question = question_of(1e6, 0.1, {});
  question.codecs.push_back({"int9", 0, 1});
  EXPECT_FALSE(choose_automatically(question, clock_of(hosts(4, 1e9))).ok());
  question = question_of(1e6, 0.1, {});
  question.modes.push_back("lokal");
  EXPECT_FALSE(choose_automatically(question, clock_of(hosts(4, 1e9))).ok());
}

TEST(Automatic, EveryCodecTriedByItselfCanBeMeasuredLeftAndSpokenOf) {
  ASSERT_EQ(usual_coding().size(), automatic_codecs().size());
  for (std::size_t i = 0; i < automatic_codecs().size(); ++i) {
    EXPECT_EQ(usual_coding()[i].codec, automatic_codecs()[i]);
    const auto codec = codec::make_codec(automatic_codecs()[i]);
    EXPECT_TRUE((*codec)->movable());
    const auto took = measure_coding(**codec, 5000, 4);
    ASSERT_TRUE(took.ok()) << automatic_codecs()[i];
    EXPECT_TRUE(i == 0 ? took->total_s() == 0 : took->total_s() > 0);
  }
  const auto answer = choose_automatically(question_of(1e6, 0.1, {}), clock_of(hosts(4, 1e9)));
  const auto json = nlohmann::json::parse(to_json(*answer));
  for (const char* key : {"mode", "codecs", "predicted", "plain", "considered", "reason"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}

}  // namespace
}  // namespace weft::runtime

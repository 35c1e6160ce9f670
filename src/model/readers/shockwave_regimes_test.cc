#include "model/readers/shockwave_regimes.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Regimes = std::vector<BatchRegime>;

struct Case {
  const char* why;
  Adaptation adaptation;
  BatchedModel start;
  std::uint32_t scale, epochs;
  Regimes want;
};

TEST(BatchRegimes, FollowTheMeasuredEpochs) {
  const Case cases[] = {
      {"a static job keeps its batch", Adaptation::kNone, {"LM", 10}, 1, 100, {{0, 10}}},
      {"GNS doubles",
       Adaptation::kNoiseScale,
       {"LM", 10},
       1,
       100,
       {{0, 10}, {11, 20}, {21, 40}, {41, 80}}},
      {"and stops where the job ends",
       Adaptation::kNoiseScale,
       {"LM", 10},
       1,
       21,
       {{0, 10}, {11, 20}}},
      {"no measurement at this scale", Adaptation::kNoiseScale, {"LM", 10}, 8, 100, {{0, 10}}},
      {"a model that never adapts", Adaptation::kNoiseScale, {"Transformer", 16}, 1, 99, {{0, 16}}},
      {"an unknown model", Adaptation::kAccordion, {"Other", 16}, 1, 99, {{0, 16}}},
      {"Accordion jumps after the first 30 %",
       Adaptation::kAccordion,
       {"LM", 5},
       1,
       100,
       {{0, 5}, {31, 80}}},
      {"and after the critical epochs",
       Adaptation::kAccordion,
       {"LM", 5},
       1,
       20,
       {{0, 5}, {10, 80}}},
      {"and falls back in later ones",
       Adaptation::kAccordion,
       {"Recommendation", 512},
       1,
       100,
       {{0, 512}, {31, 8192}, {60, 512}, {70, 8192}, {80, 512}, {90, 8192}}},
      {"already at the largest", Adaptation::kAccordion, {"LM", 80}, 1, 100, {{0, 80}}},
      {"no epochs", Adaptation::kAccordion, {"LM", 5}, 1, 0, {{0, 5}}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(batch_regimes(c.adaptation, c.start, c.scale, c.epochs), c.want) << c.why;
  }
}

TEST(BatchedModel, TakesNamesApart) {
  const auto model = parse_batched_model("ResNet-18 (batch size 16)");
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->model, "ResNet-18");
  EXPECT_EQ(model->batch, 16U);
  EXPECT_EQ(batched_model_text(model->model, model->batch), "ResNet-18 (batch size 16)");
  for (const char* const text :
       {"ResNet-18", "A (batch size 0)", "A (batch size x)", "A (batch size 1"}) {
    EXPECT_FALSE(parse_batched_model(text).has_value()) << text;
  }
  EXPECT_EQ(samples_per_epoch("LM"), 59675U);
  EXPECT_EQ(samples_per_epoch("Other"), 0U);
}

}  // namespace
}  // namespace weft

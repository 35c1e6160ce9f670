#include "control/history.h"

#include <gtest/gtest.h>

#include <memory>

namespace weft {
namespace {

Submission like(TenantId tenant, ModelId model, std::uint32_t devices) {
  Submission submission;
  submission.tenant = tenant;
  submission.model = model;
  auto menu = std::make_shared<Menu>();
  menu->configurations.emplace_back().devices = devices;
  submission.menu = menu;
  return submission;
}

TEST(History, KnowsNothingBeforeTheFirstJobEnds) {
  EXPECT_FALSE(History().estimate(like(0, 0, 1)).known());
}

TEST(History, TakesTheClosestKinThereIs) {
  History history;
  history.ended(like(1, 5, 8), 100);
  history.ended(like(1, 5, 8), 300);
  history.ended(like(1, 6, 1), 1000);
  history.ended(like(2, 5, 8), 4000);
  EXPECT_EQ(history.estimate(like(1, 5, 8)).duration, 200) << "same tenant, model and width";
  EXPECT_EQ(history.estimate(like(1, 5, 4)).duration, 1400 / 3.0) << "same tenant";
  EXPECT_EQ(history.estimate(like(9, 5, 8)).duration, 5400 / 4.0) << "everybody";
  EXPECT_EQ(history.estimate(like(9, 5, 8)).source, EstimateSource::kHistory);
}

}  // namespace
}  // namespace weft

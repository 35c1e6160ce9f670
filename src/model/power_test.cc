#include "model/power.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Power, SpeedUnderACap) {
  DeviceType type;
  EXPECT_EQ(capped_speed(type, 100), 1) << "no curve, no effect";
  EXPECT_EQ(busy_watts(type, 100), 0);
  type.power = {{100, 0.5}, {200, 0.8}, {300, 1}};
  EXPECT_EQ(capped_speed(type, 0), 1);
  EXPECT_EQ(capped_speed(type, 500), 1);
  EXPECT_DOUBLE_EQ(capped_speed(type, 250), 0.9);
  EXPECT_DOUBLE_EQ(capped_speed(type, 100), 0.5);
  EXPECT_DOUBLE_EQ(capped_speed(type, 50), 0.25) << "below the curve: in proportion";
  EXPECT_EQ(busy_watts(type, 250), 250);
  EXPECT_EQ(busy_watts(type, 0), 300);
}

TEST(Power, TheLowerCapHolds) {
  Configuration configuration;
  Allocation allocation;
  EXPECT_EQ(cap_of(configuration, allocation), 0);
  allocation.watts_cap = 150;
  EXPECT_EQ(cap_of(configuration, allocation), 150);
  configuration.watts_cap = 120;
  EXPECT_EQ(cap_of(configuration, allocation), 120);
  allocation.watts_cap = 0;
  EXPECT_EQ(cap_of(configuration, allocation), 120);
}

}  // namespace
}  // namespace weft

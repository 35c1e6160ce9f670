#include "model/readers/model_draw.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

TEST(ModelDraw, IsNumpysStreamOfSeedZero) {
  ModelDraw draw;
  std::vector<std::uint32_t> drawn;
  for (int i = 0; i < 20; ++i) drawn.push_back(draw.below(66));
  EXPECT_EQ(drawn, (std::vector<std::uint32_t>{56, 42, 33, 17, 20, 2,  4,  1,  11, 53,
                                               42, 60, 33, 40, 64, 48, 41, 35, 36, 61}));
}

TEST(ModelDraw, StaysBelowTheBound) {
  ModelDraw draw(7);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(draw.below(3), 3u);
  EXPECT_EQ(draw.below(1), 0u);
}

}  // namespace
}  // namespace weft

#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

TEST(HugePages, AreZerosOfAnyLength) {
  for (const std::size_t count : {0UL, 1UL, 1000UL, (4UL << 20) / 4, (9UL << 20) / 4 + 3}) {
    const std::vector<float> values = long_zeros(count);
    ASSERT_EQ(values.size(), count);
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }));
  }
}

}  // namespace
}  // namespace weft

#include "policy/solve/mixture.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace weft::solve {
namespace {

TEST(Mixture, MixesTwoColumnsThatFillTwoRows) {
  Mixture mixture({4, 6});
  mixture.add(std::vector<double>{1, 3}, 3);
  mixture.add(std::vector<double>{2, 1}, 2);
  mixture.solve();
  // x = 1.6, y = 1.2: both rows are full and no other corner of the polygon is worth more.
  EXPECT_NEAR(mixture.value(), 7.2, 1e-12);
  ASSERT_EQ(mixture.parts().size(), 2U);
  EXPECT_NEAR(mixture.parts()[0].weight, 1.6, 1e-12);
  EXPECT_NEAR(mixture.parts()[1].weight, 1.2, 1e-12);
  EXPECT_NEAR(mixture.prices()[0], 0.6, 1e-12);
  EXPECT_NEAR(mixture.prices()[1], 0.8, 1e-12);
}

TEST(Mixture, ALaterColumnReplacesAWorseOne) {
  Mixture mixture({1});
  mixture.add(std::vector<double>{1}, 1);
  mixture.solve();
  EXPECT_NEAR(mixture.value(), 1, 1e-12);
  mixture.add(std::vector<double>{0.5}, 1);
  mixture.solve();
  EXPECT_NEAR(mixture.value(), 2, 1e-12);
  ASSERT_EQ(mixture.parts().size(), 1U);
  EXPECT_EQ(mixture.parts()[0].column, 1);
}

TEST(Mixture, EndsOnRowsWithoutRoom) {
  Mixture mixture({0, 0, 1});
  mixture.add(std::vector<double>{1, -1, 1}, 2);
  mixture.add(std::vector<double>{-1, 1, 1}, 1);
  mixture.solve();
  EXPECT_NEAR(mixture.value(), 1.5, 1e-12);  // half of each
}

// The optimum is proved by its prices: no column gains more than it pays, and both sums agree.
TEST(Mixture, PricesProveTheOptimumOnRandomColumns) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t rows = 1 + random.below(8);
    std::vector<double> limit(rows);
    for (double& room : limit) room = random.chance(0.2) ? 0 : random.uniform(0, 3);
    Mixture mixture(limit);
    std::vector<std::vector<double>> columns;
    std::vector<double> gains;
    for (int k = 0; k < 30; ++k) {
      std::vector<double> column(rows);
      for (double& entry : column) entry = random.uniform(0.1, 2);
      columns.push_back(column);
      gains.push_back(random.uniform(0, 1));
      mixture.add(column, gains.back());
      if (k % 3 == 0) mixture.solve();
    }
    mixture.solve();
    double paid = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      EXPECT_GE(mixture.prices()[r], -1e-12);
      paid += mixture.prices()[r] * limit[r];
    }
    EXPECT_NEAR(paid, mixture.value(), 1e-9);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      double price = 0;
      for (std::size_t r = 0; r < rows; ++r) price += mixture.prices()[r] * columns[k][r];
      EXPECT_LE(gains[k], price + 1e-9);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      double used = 0;
      for (const Mixture::Part& part : mixture.parts()) {
        used += part.weight * columns[static_cast<std::size_t>(part.column)][r];
      }
      EXPECT_LE(used, limit[r] + 1e-9);
    }
  }
}

}  // namespace
}  // namespace weft::solve

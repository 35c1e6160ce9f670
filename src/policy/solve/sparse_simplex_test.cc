#include "policy/solve/sparse_simplex.h"

#include <gtest/gtest.h>

#include <coin/ClpSimplex.hpp>

#include "base/random.h"

namespace weft::solve {
namespace {

using Entry = SparseSimplex::Entry;

// max 3x + 2y with x + y <= 4, x + 3y <= 7, x <= 3: x = 3, y = 1.
TEST(SparseSimplex, SolvesATextbookCase) {
  SparseSimplex simplex({4, 7, 3});
  simplex.add_column(std::vector<Entry>{{0, 1}, {1, 1}, {2, 1}}, 3);
  simplex.add_column(std::vector<Entry>{{0, 1}, {1, 3}}, 2);
  ASSERT_TRUE(simplex.solve());
  EXPECT_NEAR(simplex.weights()[0], 3, 1e-12);
  EXPECT_NEAR(simplex.weights()[1], 1, 1e-12);
  EXPECT_NEAR(simplex.dual(0), 2, 1e-12);
  EXPECT_NEAR(simplex.dual(1), 0, 1e-12);
  EXPECT_NEAR(simplex.dual(2), 1, 1e-12);
  EXPECT_LE(simplex.worst_reduced_gain(), 1e-12);
}

// x is raised until its row stops it and stays; what it leaves goes to a column that comes later.
TEST(SparseSimplex, ARetiredColumnStaysAsItIs) {
  SparseSimplex simplex({5, 3});
  simplex.add_column(std::vector<Entry>{{0, 1}, {1, 1}}, 1);
  ASSERT_TRUE(simplex.solve());
  ASSERT_GT(simplex.dual(1), 0);
  simplex.retire(0, 1);
  simplex.add_column(std::vector<Entry>{{0, 1}}, 100);
  ASSERT_TRUE(simplex.solve());
  EXPECT_NEAR(simplex.weights()[0], 3, 1e-12);
  EXPECT_NEAR(simplex.weights()[1], 2, 1e-12);
}

TEST(SparseSimplex, EqualsClpOnRandomPrograms) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t rows = 1 + random.below(20), columns = 1 + random.below(60);
    std::vector<double> limit, gain;
    for (std::size_t r = 0; r < rows; ++r) limit.push_back(random.uniform(0.1, 10));
    SparseSimplex simplex(limit);
    CoinPackedMatrix matrix(true, 0, 0);
    matrix.setDimensions(static_cast<int>(rows), 0);
    for (std::size_t c = 0; c < columns; ++c) {
      // Somewhere positive, so that there is a bound.
      std::vector<Entry> entries = {{random.below(rows), random.uniform(0.1, 3)}};
      for (std::size_t r = 0; r < rows; ++r) {
        if (r != entries[0].row && random.chance(0.2)) entries.push_back({r, random.uniform(0, 2)});
      }
      gain.push_back(random.uniform(-1, 2));
      simplex.add_column(entries, gain.back());
      std::vector<int> index;
      std::vector<double> value;
      for (const Entry& entry : entries) {
        index.push_back(static_cast<int>(entry.row));
        value.push_back(entry.value);
      }
      matrix.appendCol(static_cast<int>(index.size()), index.data(), value.data());
    }
    ASSERT_TRUE(simplex.solve());
    const std::vector<double> low(rows, -COIN_DBL_MAX);
    ClpSimplex clp;
    clp.setLogLevel(0);
    clp.loadProblem(matrix, nullptr, nullptr, gain.data(), low.data(), limit.data());
    clp.setOptimizationDirection(-1);
    clp.initialSolve();
    double value = 0, cost = 0;
    for (std::size_t c = 0; c < columns; ++c) value += gain[c] * simplex.weights()[c];
    for (std::size_t r = 0; r < rows; ++r) cost += limit[r] * simplex.dual(r);
    EXPECT_NEAR(value, clp.objectiveValue(), 1e-7 * (1 + value));
    EXPECT_NEAR(cost, value, 1e-7 * (1 + value)) << "the duals do not prove it";
  }
}

}  // namespace
}  // namespace weft::solve

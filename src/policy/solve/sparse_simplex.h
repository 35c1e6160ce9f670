// Internal to the share solvers: linear programs with many sparse columns and some hundred rows.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft::solve {

// max gain . x  subject to  columns . x <= limit, x >= 0, by the revised simplex method from the
// slack basis, with an explicit inverse that pivots update (Dantzig and Orchard-Hays 1954).
// Requires: limit >= 0. Limits of which many are equal should differ a little, or it may cycle.
class SparseSimplex {
 public:
  struct Entry {
    std::size_t row;
    double value;
  };

  explicit SparseSimplex(std::vector<double> limit);

  // Returns the column's number, ascending from 0.
  std::size_t add_column(std::span<const Entry> entries, double gain);
  // Goes on from where the last call ended. False: it gave up, and the weights, while feasible, are
  // not the best.  Cost: pivots x (rows^2 + entries of all columns).
  bool solve();
  // Fixes a basic column at its weight for good: the limits shrink by what it uses, and the slack
  // of `row` takes its place in the basis. Requires: dual(row) > 0, and the gain of every other
  // basic column is 0.
  void retire(std::size_t column, std::size_t row);

  std::vector<double> weights() const;  // by column
  double dual(std::size_t row) const { return dual_[row]; }
  // The most by which any column's gain exceeds its cost at the duals.
  double worst_reduced_gain() const;
  std::size_t rows() const { return limit_.size(); }

 private:
  // Basis entries are columns, or the slack of row r as `kSlack + r`.
  static constexpr std::size_t kSlack = std::size_t{1} << 32;
  static constexpr std::size_t kNone = ~std::size_t{0};

  double reduced_gain(std::size_t column) const;
  std::size_t entering();
  std::size_t leaving() const;
  void turn(std::size_t variable);
  void pivot(std::size_t row, std::size_t variable, double step);
  bool drifted() const;
  void refresh();

  std::vector<double> limit_;
  std::vector<std::size_t> start_{0};
  std::vector<Entry> entries_;
  std::vector<double> gain_;
  std::vector<bool> barred_;  // retired columns, and those in the basis
  std::vector<double> retired_;
  std::vector<std::size_t> basis_;
  std::vector<double> inverse_;  // row by row
  std::vector<double> weight_;   // of the basis
  std::vector<double> dual_;
  std::vector<double> turn_;  // inverse x the entering column
  std::size_t since_refresh_ = 0;
  std::vector<std::size_t> promising_;  // columns
  double enough_ = 0;                   // what one of them must promise
};

}  // namespace weft::solve

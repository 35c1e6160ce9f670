// Internal to the share solvers: the best mixture of candidate answers.
#pragma once

#include <span>
#include <vector>

namespace weft::solve {

inline constexpr double kInOut = 0.5;  // how near to the best prices a plane is taken

// max gain . x  subject to  columns . x <= limit, x >= 0, where columns arrive one at a time and
// the rows are few (one per device type): the restricted master of Dantzig and Wolfe (1960), by
// the revised simplex method from the slack basis.
// Requires: limit >= 0.  Cost of solve(): pivots x columns x rows; the inverse is rebuilt each
// time.
class Mixture {
 public:
  explicit Mixture(std::vector<double> limit);

  // Requires: column has one number per row.
  void add(std::span<const double> column, double gain);
  void solve();

  double value() const { return value_; }
  std::span<const double> prices() const { return dual_; }  // per row, >= 0

  struct Part {
    int column;
    double weight;
  };
  // The columns in use, in order of arrival.
  std::vector<Part> parts() const;

 private:
  // Basis entries are columns >= 0, or the slack of row r as -1 - r.
  double entry(int column, int row) const;
  double gain(int column) const {
    return column < 0 ? 0 : gains_[static_cast<std::size_t>(column)];
  }
  void invert();
  void refresh();
  bool is_basic(int column) const;
  int entering(bool first_improving) const;
  int leaving(int column) const;

  int rows_;
  int columns_ = 0;
  std::vector<double> limit_;
  std::vector<double> entries_;
  std::vector<double> gains_;
  std::vector<int> basis_;
  std::vector<double> inverse_;
  std::vector<double> weight_;
  std::vector<double> dual_;
  double value_ = 0;
};

}  // namespace weft::solve

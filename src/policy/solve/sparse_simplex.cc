#include "policy/solve/sparse_simplex.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace weft::solve {
namespace {
constexpr double kSparseGain = 1e-11;   // a column that promises less does not enter
constexpr double kSparsePivot = 1e-9;   // smaller pivots would spoil the inverse
constexpr double kRound = 1e-12;        // how far a weight may pass zero for a better pivot
constexpr double kStillMuch = 0.1;      // of the largest promise when all were looked at
constexpr double kDrift = 1e-10;        // residual from which the inverse is made anew
constexpr std::size_t kRefresh = 1000;  // and the pivots after which it is in any case
}  // namespace

SparseSimplex::SparseSimplex(std::vector<double> limit) : limit_(std::move(limit)) {
  const std::size_t n = rows();
  inverse_.assign(n * n, 0);
  for (std::size_t r = 0; r < n; ++r) {
    CHECK(limit_[r] >= 0);
    basis_.push_back(kSlack + r);
    inverse_[r * n + r] = 1;
  }
  weight_ = limit_;
  dual_.assign(n, 0);
  turn_.resize(n);
}

std::size_t SparseSimplex::add_column(std::span<const Entry> entries, double gain) {
  entries_.insert(entries_.end(), entries.begin(), entries.end());
  start_.push_back(entries_.size());
  gain_.push_back(gain);
  barred_.push_back(false);
  retired_.push_back(0);
  return gain_.size() - 1;
}

double SparseSimplex::reduced_gain(std::size_t column) const {
  double gain = gain_[column];
  for (std::size_t i = start_[column]; i < start_[column + 1]; ++i) {
    gain -= dual_[entries_[i].row] * entries_[i].value;
  }
  return gain;
}

double SparseSimplex::worst_reduced_gain() const {
  double worst = 0;
  for (std::size_t c = 0; c < gain_.size(); ++c) {
    if (!barred_[c]) worst = std::max(worst, reduced_gain(c));
  }
  return worst;
}

std::vector<double> SparseSimplex::weights() const {
  std::vector<double> weight = retired_;
  for (std::size_t r = 0; r < rows(); ++r) {
    if (basis_[r] < kSlack) weight[basis_[r]] = weight_[r];
  }
  return weight;
}

// The variable that promises most for each unit of its weight. Columns that promised much when all
// were last looked at are looked at first; only when they no longer do are all of them again.
std::size_t SparseSimplex::entering() {
  std::size_t best = kNone;
  double most = kSparseGain;
  for (std::size_t r = 0; r < rows(); ++r) {
    if (-dual_[r] > most) {
      most = -dual_[r];
      best = kSlack + r;
    }
  }
  const auto look = [&](std::size_t column) {
    if (barred_[column]) return 0.0;
    const double gain = reduced_gain(column);
    if (gain > most) {
      most = gain;
      best = column;
    }
    return gain;
  };
  for (const std::size_t column : promising_) look(column);
  if (most > kSparseGain && most >= enough_) return best;
  std::vector<std::pair<double, std::size_t>> all;
  for (std::size_t c = 0; c < gain_.size(); ++c) {
    if (const double gain = look(c); gain > kSparseGain) all.emplace_back(-gain, c);
  }
  const std::size_t kept = std::min(all.size(), rows() / 2 + 8);
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end());
  promising_.clear();
  for (std::size_t i = 0; i < kept; ++i) promising_.push_back(all[i].second);
  std::sort(promising_.begin(), promising_.end());
  enough_ = most * kStillMuch;
  return best;
}

void SparseSimplex::turn(std::size_t variable) {
  const std::size_t n = rows();
  std::fill(turn_.begin(), turn_.end(), 0);
  const auto add = [&](std::size_t row, double value) {
    for (std::size_t r = 0; r < n; ++r) turn_[r] += inverse_[r * n + row] * value;
  };
  if (variable >= kSlack) return add(variable - kSlack, 1);
  for (std::size_t i = start_[variable]; i < start_[variable + 1]; ++i) {
    add(entries_[i].row, entries_[i].value);
  }
}

// Of the rows that would reach zero first, within rounding, the one with the largest pivot
// (Harris 1973).
std::size_t SparseSimplex::leaving() const {
  double reach = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < rows(); ++r) {
    if (turn_[r] > kSparsePivot) reach = std::min(reach, (weight_[r] + kRound) / turn_[r]);
  }
  std::size_t best = kNone;
  for (std::size_t r = 0; r < rows(); ++r) {
    if (turn_[r] <= kSparsePivot || weight_[r] > reach * turn_[r]) continue;
    if (best == kNone || turn_[r] > turn_[best]) best = r;
  }
  return best;
}

void SparseSimplex::pivot(std::size_t row, std::size_t variable, double step) {
  const std::size_t n = rows();
  double* const pivot_row = inverse_.data() + row * n;
  double gain = variable >= kSlack ? -dual_[variable - kSlack] : reduced_gain(variable);
  gain /= turn_[row];
  for (std::size_t k = 0; k < n; ++k) {
    dual_[k] += gain * pivot_row[k];
    pivot_row[k] /= turn_[row];
  }
  for (std::size_t r = 0; r < n; ++r) {
    const double factor = turn_[r];
    if (r == row || factor == 0) continue;
    weight_[r] = std::max(0.0, weight_[r] - step * factor);
    double* const other = inverse_.data() + r * n;
    for (std::size_t k = 0; k < n; ++k) other[k] -= factor * pivot_row[k];
  }
  if (basis_[row] < kSlack) barred_[basis_[row]] = false;
  if (variable < kSlack) barred_[variable] = true;
  basis_[row] = variable;
  weight_[row] = step;
  ++since_refresh_;
}

// Inverts the basis anew (Gauss-Jordan with partial pivoting) and derives weights and duals from
// it.
void SparseSimplex::refresh() {
  const std::size_t n = rows();
  std::vector<double> work(n * n, 0);
  std::fill(inverse_.begin(), inverse_.end(), 0);
  for (std::size_t c = 0; c < n; ++c) {
    inverse_[c * n + c] = 1;
    if (basis_[c] >= kSlack) {
      work[(basis_[c] - kSlack) * n + c] = 1;
      continue;
    }
    for (std::size_t i = start_[basis_[c]]; i < start_[basis_[c] + 1]; ++i) {
      work[entries_[i].row * n + c] += entries_[i].value;
    }
  }
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t best = c;
    for (std::size_t r = c + 1; r < n; ++r) {
      if (std::abs(work[r * n + c]) > std::abs(work[best * n + c])) best = r;
    }
    const double scale = work[best * n + c];
    CHECK(scale != 0);
    for (std::size_t k = 0; k < n; ++k) {
      std::swap(work[c * n + k], work[best * n + k]);
      std::swap(inverse_[c * n + k], inverse_[best * n + k]);
      work[c * n + k] /= scale;
      inverse_[c * n + k] /= scale;
    }
    for (std::size_t r = 0; r < n; ++r) {
      const double factor = work[r * n + c];
      if (r == c || factor == 0) continue;
      for (std::size_t k = c; k < n; ++k) work[r * n + k] -= factor * work[c * n + k];
      for (std::size_t k = 0; k < n; ++k) inverse_[r * n + k] -= factor * inverse_[c * n + k];
    }
  }
  std::fill(dual_.begin(), dual_.end(), 0);
  for (std::size_t r = 0; r < n; ++r) {
    double weight = 0;
    const double gain = basis_[r] < kSlack ? gain_[basis_[r]] : 0;
    for (std::size_t k = 0; k < n; ++k) {
      weight += inverse_[r * n + k] * limit_[k];
      dual_[k] += gain * inverse_[r * n + k];
    }
    weight_[r] = std::max(0.0, weight);
  }
  since_refresh_ = 0;
}

// True if weights no longer fill the limits, or basic columns no longer cost what they gain.
bool SparseSimplex::drifted() const {
  std::vector<double> left = limit_;
  double worst = 0;
  for (std::size_t r = 0; r < rows(); ++r) {
    if (basis_[r] >= kSlack) {
      left[basis_[r] - kSlack] -= weight_[r];
      worst = std::max(worst, std::abs(dual_[basis_[r] - kSlack]));
      continue;
    }
    for (std::size_t i = start_[basis_[r]]; i < start_[basis_[r] + 1]; ++i) {
      left[entries_[i].row] -= entries_[i].value * weight_[r];
    }
    worst = std::max(worst, std::abs(reduced_gain(basis_[r])));
  }
  for (const double residual : left) worst = std::max(worst, std::abs(residual));
  return worst > kDrift;
}

bool SparseSimplex::solve() {
  const std::size_t most_pivots = 100 * rows() + 1000;
  for (std::size_t pivots = 0; pivots < most_pivots; ++pivots) {
    if (since_refresh_ >= kRefresh) refresh();
    std::size_t variable = entering();
    if (variable == kNone && since_refresh_ > 0 && drifted()) {
      refresh();
      variable = entering();
    }
    if (variable == kNone) return true;
    turn(variable);
    const std::size_t row = leaving();
    CHECK_MSG(row != kNone, "the linear program has no bound");
    pivot(row, variable, weight_[row] / turn_[row]);
  }
  return false;
}

void SparseSimplex::retire(std::size_t column, std::size_t row) {
  const auto at = std::find(basis_.begin(), basis_.end(), column);
  CHECK(at != basis_.end() && dual_[row] > 0);
  const auto place = static_cast<std::size_t>(at - basis_.begin());
  retired_[column] = weight_[place];
  for (std::size_t i = start_[column]; i < start_[column + 1]; ++i) {
    limit_[entries_[i].row] -= entries_[i].value * retired_[column];
  }
  turn(kSlack + row);
  weight_[place] = 0;  // so that the step is 0 and all other weights stay
  pivot(place, kSlack + row, 0);
  barred_[column] = true;
  gain_[column] = 0;
  std::fill(dual_.begin(), dual_.end(), 0);
}

}  // namespace weft::solve

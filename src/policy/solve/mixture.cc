#include "policy/solve/mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace weft::solve {
namespace {
constexpr double kGain = 1e-12;  // a column that promises less does not enter
constexpr double kPivot = 1e-8;  // smaller pivots would spoil the inverse
constexpr int kNone = std::numeric_limits<int>::min();
// After this many pivots the first improving column enters instead of the best one, which ends any
// cycle (Bland 1977).
constexpr int kBestPivots = 200;
constexpr int kMaxPivots = 5000;
constexpr int kRefinements = 3;
}  // namespace

Mixture::Mixture(std::vector<double> limit)
    : rows_(static_cast<int>(limit.size())), limit_(std::move(limit)) {
  const auto n = static_cast<std::size_t>(rows_);
  for (int r = 0; r < rows_; ++r) basis_.push_back(-1 - r);
  inverse_.resize(n * n);
  weight_.resize(n);
  dual_.resize(n);
}

void Mixture::add(std::span<const double> column, double gain) {
  CHECK(static_cast<int>(column.size()) == rows_);
  entries_.insert(entries_.end(), column.begin(), column.end());
  gains_.push_back(gain);
  ++columns_;
}

double Mixture::entry(int column, int row) const {
  if (column < 0) return -1 - column == row ? 1 : 0;
  return entries_[static_cast<std::size_t>(column * rows_ + row)];
}

// Gauss-Jordan with partial pivoting.
void Mixture::invert() {
  const int n = rows_;
  std::vector<double> work(static_cast<std::size_t>(n * n));
  const auto at = [n](std::vector<double>& m, int r, int c) -> double& {
    return m[static_cast<std::size_t>(r * n + c)];
  };
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      at(work, r, c) = entry(basis_[static_cast<std::size_t>(c)], r);
      at(inverse_, r, c) = r == c ? 1 : 0;
    }
  }
  for (int c = 0; c < n; ++c) {
    int pivot = c;
    for (int r = c + 1; r < n; ++r) {
      if (std::abs(at(work, r, c)) > std::abs(at(work, pivot, c))) pivot = r;
    }
    const double scale = at(work, pivot, c);
    CHECK(scale != 0);
    for (int k = 0; k < n; ++k) {
      std::swap(at(work, c, k), at(work, pivot, k));
      std::swap(at(inverse_, c, k), at(inverse_, pivot, k));
      at(work, c, k) /= scale;
      at(inverse_, c, k) /= scale;
    }
    for (int r = 0; r < n; ++r) {
      const double factor = at(work, r, c);
      if (r == c || factor == 0) continue;
      for (int k = 0; k < n; ++k) {
        at(work, r, k) -= factor * at(work, c, k);
        at(inverse_, r, k) -= factor * at(inverse_, c, k);
      }
    }
  }
}

// Late columns differ little from each other, so the inverse is inexact; residuals mend that.
void Mixture::refresh() {
  invert();
  std::fill(weight_.begin(), weight_.end(), 0);
  std::fill(dual_.begin(), dual_.end(), 0);
  const auto n = static_cast<std::size_t>(rows_);
  std::vector<double> short_of(n);  // limit - columns . weight, per row
  std::vector<double> unpaid(n);    // gain - prices . column, per basis entry
  for (int round = 0; round < kRefinements; ++round) {
    for (std::size_t k = 0; k < n; ++k) {
      short_of[k] = limit_[k];
      unpaid[k] = gain(basis_[k]);
      for (std::size_t i = 0; i < n; ++i) {
        short_of[k] -= entry(basis_[i], static_cast<int>(k)) * weight_[i];
        unpaid[k] -= dual_[i] * entry(basis_[k], static_cast<int>(i));
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        weight_[i] += inverse_[i * n + k] * short_of[k];
        dual_[k] += unpaid[i] * inverse_[i * n + k];
      }
    }
  }
  value_ = 0;
  for (std::size_t k = 0; k < n; ++k) value_ += gain(basis_[k]) * weight_[k];
}

bool Mixture::is_basic(int column) const {
  return std::find(basis_.begin(), basis_.end(), column) != basis_.end();
}

int Mixture::entering(bool first_improving) const {
  int best = kNone;
  double best_reduced = kGain;
  for (int column = -rows_; column < columns_; ++column) {
    double reduced = gain(column);
    for (int r = 0; r < rows_; ++r)
      reduced -= dual_[static_cast<std::size_t>(r)] * entry(column, r);
    if (reduced <= best_reduced || is_basic(column)) continue;
    best = column;
    best_reduced = reduced;
    if (first_improving) break;
  }
  return best;
}

// The row whose basic weight reaches zero first; ties go to the lowest basis entry.
int Mixture::leaving(int column) const {
  int best = kNone;
  double best_ratio = 0;
  for (int r = 0; r < rows_; ++r) {
    double direction = 0;
    for (int c = 0; c < rows_; ++c) {
      direction += inverse_[static_cast<std::size_t>(r * rows_ + c)] * entry(column, c);
    }
    if (direction <= kPivot) continue;
    const auto row = static_cast<std::size_t>(r);
    const double ratio = std::max(0.0, weight_[row]) / direction;
    const bool tie = best != kNone && ratio == best_ratio;
    if (best == kNone || ratio < best_ratio ||
        (tie && basis_[row] < basis_[static_cast<std::size_t>(best)])) {
      best = r;
      best_ratio = ratio;
    }
  }
  return best;
}

void Mixture::solve() {
  refresh();
  for (int pivot = 0; pivot < kMaxPivots; ++pivot) {
    const int column = entering(pivot >= kBestPivots);
    if (column == kNone) return;
    const int row = leaving(column);
    if (row == kNone) return;
    basis_[static_cast<std::size_t>(row)] = column;
    refresh();
  }
}

std::vector<Mixture::Part> Mixture::parts() const {
  std::vector<Part> parts;
  for (std::size_t r = 0; r < basis_.size(); ++r) {
    if (basis_[r] >= 0 && weight_[r] > 0) parts.push_back({basis_[r], weight_[r]});
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.column < b.column; });
  return parts;
}

}  // namespace weft::solve

#include "policy/solve/mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace weft::solve {
namespace {
constexpr double kTiny = 1e-12;
constexpr int kNone = std::numeric_limits<int>::min();
// After this many pivots the first improving column enters instead of the best one, which ends any
// cycle (Bland 1977).
constexpr int kBestPivots = 200;
constexpr int kMaxPivots = 5000;
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

void Mixture::refresh() {
  invert();
  std::fill(weight_.begin(), weight_.end(), 0);
  std::fill(dual_.begin(), dual_.end(), 0);
  value_ = 0;
  for (int r = 0; r < rows_; ++r) {
    const auto row = static_cast<std::size_t>(r);
    for (int c = 0; c < rows_; ++c) {
      const auto col = static_cast<std::size_t>(c);
      const double inverse = inverse_[static_cast<std::size_t>(r * rows_ + c)];
      weight_[row] += inverse * limit_[col];
      dual_[col] += gain(basis_[row]) * inverse;
    }
    value_ += gain(basis_[row]) * weight_[row];
  }
}

int Mixture::entering(bool first_improving) const {
  int best = kNone;
  double best_reduced = kTiny;
  for (int column = -rows_; column < columns_; ++column) {
    double reduced = gain(column);
    for (int r = 0; r < rows_; ++r) reduced -= dual_[static_cast<std::size_t>(r)] * entry(column, r);
    if (reduced <= best_reduced) continue;
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
    if (direction <= kTiny) continue;
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

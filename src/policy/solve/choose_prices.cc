#include "policy/solve/choose_prices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weft {
namespace {

// All jobs' picks at some prices, added up.
struct Picks {
  double value = 0;
  std::vector<double> usage;  // devices per type
};

// The Lagrangian bound at these prices, and the picks that attain it.
double pick_all(const ChooseProblem& problem, const std::vector<double>& price, Picks& picks) {
  picks.value = 0;
  picks.usage.assign(price.size(), 0.0);
  double bound = 0;
  for (std::size_t t = 0; t < price.size(); ++t)
    bound += price[t] * static_cast<double>(problem.capacity[t]);
  const ChooseOption* option = problem.options.data();
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    double best = 0;
    const ChooseOption* pick = nullptr;
    for (const ChooseOption* end = problem.options.data() + problem.first_option[j + 1];
         option != end; ++option) {
      const double worth = option->value - price[option->type] * option->devices;
      if (worth > best) {
        best = worth;
        pick = option;
      }
    }
    if (pick == nullptr) continue;
    bound += best;
    picks.value += pick->value;
    picks.usage[pick->type] += pick->devices;
  }
  return bound;
}

// Mixes of earlier picks that fit the capacity, and the prices at which the best mix balances
// (the restricted master of Dantzig and Wolfe 1960). One row per type and one for "weights sum to
// 1", so the simplex works on a matrix of a few rows and factors it anew at every pivot.
class Mix {
 public:
  explicit Mix(std::span<const std::int64_t> capacity)
      : rows_(capacity.size() + 1), right_(rows_, 1.0), basis_(rows_) {
    for (std::size_t t = 0; t + 1 < rows_; ++t) right_[t] = static_cast<double>(capacity[t]);
    for (std::size_t r = 0; r < rows_; ++r) {  // slacks, and the picks of nobody
      std::vector<double> column(rows_, 0.0);
      column[r] = 1.0;
      columns_.push_back(std::move(column));
      values_.push_back(0.0);
      basis_[r] = r;
    }
  }

  void add(const Picks& picks) {
    std::vector<double> column = picks.usage;
    column.push_back(1.0);
    columns_.push_back(std::move(column));
    values_.push_back(picks.value);
  }

  // Ensures: dual() holds the prices of the best mix, then the value left after paying them.
  // Returns the value of the best mix.
  double solve() {
    for (int pivot = 0; pivot < kPivots; ++pivot) {
      dual_ = solve_square(/*transposed=*/true, basis_values());
      const std::size_t enter = entering();
      if (enter == columns_.size() || !pivot_in(enter)) break;
    }
    return std::inner_product(dual_.begin(), dual_.end(), right_.begin(), 0.0);
  }
  const std::vector<double>& dual() const { return dual_; }

 private:
  static constexpr int kPivots = 200;

  std::vector<double> basis_values() const {
    std::vector<double> result(rows_);
    for (std::size_t r = 0; r < rows_; ++r) result[r] = values_[basis_[r]];
    return result;
  }

  std::size_t entering() const {
    std::size_t best = columns_.size();
    double best_gain = 1e-12 * (1.0 + std::abs(dual_.back()));
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const double paid = std::inner_product(dual_.begin(), dual_.end(), columns_[c].begin(), 0.0);
      if (values_[c] - paid > best_gain) {
        best_gain = values_[c] - paid;
        best = c;
      }
    }
    return best;
  }

  // Exchanges `enter` for the basic column that reaches 0 first.
  bool pivot_in(std::size_t enter) {
    const std::vector<double> weights = solve_square(/*transposed=*/false, right_);
    const std::vector<double> direction = solve_square(/*transposed=*/false, columns_[enter]);
    std::size_t leave = rows_;
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < rows_; ++r) {
      if (direction[r] <= 1e-11) continue;
      const double ratio = std::max(weights[r], 0.0) / direction[r];
      if (ratio < step || (ratio == step && basis_[r] < basis_[leave])) {
        step = ratio;
        leave = r;
      }
    }
    if (leave == rows_) return false;
    basis_[leave] = enter;
    return true;
  }

  // Gauss-Jordan with row pivoting on the basis matrix (or its transpose).
  std::vector<double> solve_square(bool transposed, std::vector<double> right) const {
    std::vector<double> matrix(rows_ * rows_);
    for (std::size_t r = 0; r < rows_; ++r)
      for (std::size_t c = 0; c < rows_; ++c)
        matrix[r * rows_ + c] = transposed ? columns_[basis_[r]][c] : columns_[basis_[c]][r];
    for (std::size_t c = 0; c < rows_; ++c) {
      std::size_t pivot = c;
      for (std::size_t r = c + 1; r < rows_; ++r)
        if (std::abs(matrix[r * rows_ + c]) > std::abs(matrix[pivot * rows_ + c])) pivot = r;
      const double head = matrix[pivot * rows_ + c];
      if (head == 0.0) continue;
      for (std::size_t k = 0; k < rows_; ++k)
        std::swap(matrix[c * rows_ + k], matrix[pivot * rows_ + k]);
      std::swap(right[c], right[pivot]);
      for (std::size_t r = 0; r < rows_; ++r) {
        const double factor = matrix[r * rows_ + c] / head;
        if (r == c || factor == 0.0) continue;
        for (std::size_t k = c; k < rows_; ++k)
          matrix[r * rows_ + k] -= factor * matrix[c * rows_ + k];
        right[r] -= factor * right[c];
      }
    }
    for (std::size_t r = 0; r < rows_; ++r) right[r] /= matrix[r * rows_ + r];
    return right;
  }

  std::size_t rows_;
  std::vector<double> right_;
  std::vector<std::vector<double>> columns_;
  std::vector<double> values_;
  std::vector<std::size_t> basis_;
  std::vector<double> dual_;
};

}  // namespace

// Column generation, stabilised by asking half-way between the best prices so far and the mix's
// (Wentges 1997). The bound falls and the value of the best mix rises until they meet at the value
// of the linear relaxation.
ChoosePrices find_prices(const ChooseProblem& problem, std::span<const double> warm_price,
                         const ChooseLimits& limits) {
  const std::size_t types = problem.capacity.size();
  if (problem.options.empty()) return {std::vector<double>(types, 0.0), 0.0, 0};
  ChoosePrices best;
  best.bound = std::numeric_limits<double>::infinity();
  std::vector<double> price(types, 0.0);
  for (std::size_t t = 0; t < warm_price.size(); ++t) price[t] = std::max(warm_price[t], 0.0);
  Mix mix(problem.capacity);
  Picks picks;
  bool stabilise = true;
  while (best.rounds < limits.price_rounds) {
    ++best.rounds;
    const double bound = pick_all(problem, price, picks);
    const bool better = bound < best.bound;
    if (better) {
      best.bound = bound;
      best.price = price;
    }
    mix.add(picks);
    const double reached = mix.solve();
    if (!(best.bound - reached > limits.tolerance * best.bound)) break;
    // A stabilised question that taught nothing is followed by an unstabilised one.
    stabilise = better || !stabilise;
    for (std::size_t t = 0; t < types; ++t) {
      const double asked = std::max(mix.dual()[t], 0.0);
      price[t] = stabilise ? 0.5 * (asked + best.price[t]) : asked;
    }
  }
  return best;
}

}  // namespace weft

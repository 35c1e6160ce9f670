// Internal to the share solvers: the highest level that capacity allows, by prices.
#pragma once

#include <vector>

#include "policy/solve/level_rows.h"
#include "policy/solve/mixture.h"

namespace weft::solve {

// Prices as parts of the whole cluster's cost (price x capacity, summing to 1), and a level.
struct Quote {
  std::vector<double> part;
  double level = 0;
};

// What rows outside the search demand, to first order around a level.
struct Background {
  Demand demand;
  double level = 0;
};

// The largest level whose needs fit the capacity. For any prices, the level at which the cheapest
// purchases cost the whole cluster is an upper bound (surrogate duality); a mixture of purchases
// that overloads no type is an answer. The search cuts prices by Kelley's planes (1960), each
// plane being one purchase, and mixes purchases by Dantzig and Wolfe until the two meet. Planes are
// taken between the best prices so far and the planes' optimum, which halves their number (in-out
// separation; Ben-Ameur and Neto 2007).
class LevelSearch {
 public:
  // Each row stands for `copies` jobs.
  LevelSearch(const LevelRows& rows, double copies, const Background& background,
              std::span<const double> capacity);

  struct Purchase {
    Quote quote;
    double weight = 0;  // in the mixture
  };
  struct Outcome {
    Quote quote;          // the prices that bound the level, and that bound
    double overload = 0;  // the mixture needs (1 + overload) x capacity
    std::vector<Purchase> mixture;
    double mixed_level = 0;  // mean level of the mixture's purchases
    bool gave_up = false;    // the level fell below `lowest`
  };
  // Searches from prices `start.part` and levels in [lowest, start.level] until the overload is at
  // most `tolerance`.
  Outcome run(const Quote& start, double lowest, double tolerance);

 private:
  void evaluate(std::span<const double> part, double level);
  double lower_level(std::span<const double> part, double low, double high);
  void keep(std::span<const double> part, double level);
  // Lowers the level to what `part` allows and records the purchase. True where it was lowered.
  bool cut(std::span<const double> part);

  const LevelRows& rows_;
  const double copies_;
  const Background& background_;
  const std::span<const double> capacity_;

  double lowest_ = 0;
  double slack_ = 0.01;
  Quote best_;
  Mixture mixture_;
  std::vector<Quote> purchases_;
  // The last evaluation.
  std::vector<double> price_;
  std::vector<double> load_;  // usage / capacity
  double cost_ = 0;
  double cost_slope_ = 0;
};

}  // namespace weft::solve

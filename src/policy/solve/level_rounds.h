// Internal to the share solvers: searches few rows instead of all.
#pragma once

#include <span>
#include <vector>

#include "policy/solve/level_search.h"

namespace weft::solve {

inline constexpr std::size_t kFewRows = 400;  // searched without setting any aside
inline constexpr double kWideMargin = 0.5;    // from here on all rows are searched

// Rows that buy from the same edge for every quote within a margin are decided: they become a
// linear background. Only the others are searched.
struct Split {
  // The edge of a decided row as a pair of types; kUndecided for the others. Empty when all are.
  struct Ends {
    signed char low;
    signed char high;
  };
  static constexpr signed char kUndecided = -2;
  std::vector<Ends> ends;
  LevelRows undecided;
  Background background;

  bool is_decided(std::size_t row) const { return !ends.empty() && ends[row].high != kUndecided; }
};
Edge edge_between(const double* rate, Split::Ends ends);  // without prices

struct Settled {
  Split split;
  LevelSearch::Outcome outcome;
  double margin = 0;  // of the last round; kWideMargin or more when all rows were searched
};

// Finds the quote by rounds in which the margin shrinks: each round sets aside what is decided
// near the last quote and searches the rest. A round that leaves its margin is repeated with a
// wider one, so the answer is right whatever the first quote was.
// Requires: each row stands for `copies` jobs; the needs at `lowest` fit, none rises above
// `highest`.
class LevelRounds {
 public:
  LevelRounds(const LevelRows& rows, double copies, std::span<const double> capacity, double lowest,
              double highest)
      : rows_(rows), copies_(copies), capacity_(capacity), lowest_(lowest), highest_(highest) {}

  Settled settle(Quote quote, double margin, double tolerance) const;

 private:
  bool is_decided(std::size_t row, const Edge& edge, const Quote& quote,
                  std::span<const double> price, double margin) const;
  // Rows that `ends` holds decided stay so.
  Split split(const Quote& quote, double margin, std::vector<Split::Ends> ends) const;
  bool bring_near(Quote& quote, const Quote& to, double margin) const;

  const LevelRows& rows_;
  double copies_;
  std::span<const double> capacity_;
  double lowest_;
  double highest_;
};

std::vector<double> prices(const Quote& quote, std::span<const double> capacity);

}  // namespace weft::solve

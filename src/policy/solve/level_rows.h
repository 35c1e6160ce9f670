// Internal to the share solvers: jobs with needs that grow with a level, and what they demand.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "policy/solve/envelope.h"
#include "policy/solve/share.h"

namespace weft::solve {

// Rows are jobs, or several alike: their scale is that of all together.
struct LevelRows {
  int types = 0;
  std::vector<double> rate;  // rows x types
  std::vector<double> scale;
  std::vector<double> best;  // no level asks for more than this
  std::vector<double> work;
  std::vector<double> delay;

  std::size_t size() const { return scale.size(); }
  const double* rates(std::size_t row) const {
    return rate.data() + row * static_cast<std::size_t>(types);
  }
  void append(const LevelRows& from, std::size_t row);
  void drop_last();

  struct Need {
    double rate;
    double slope;  // by the level
  };
  Need need(std::size_t row, double level) const {
    const double wanted = work[row] * level;
    if (delay[row] == 0) {
      if (wanted >= best[row]) return {best[row], 0};
      return {wanted, work[row]};
    }
    const double slack = 1 - delay[row] * level;
    if (wanted >= best[row] * slack) return {best[row], 0};
    return {wanted / slack, work[row] / (slack * slack)};
  }
  // The level that a throughput amounts to.
  double level_of(std::size_t row, double throughput) const {
    return throughput / (work[row] + delay[row] * throughput);
  }
  // Makes the row ask for `throughput` at every level above zero.
  void fix(std::size_t row, double throughput) {
    best[row] = throughput;
    work[row] = 1e300;
  }
};

// Only jobs that can run and types that have devices. Jobs that do not differ share a row.
struct LevelProblem {
  LevelRows rows;
  std::vector<double> capacity;
  std::vector<std::size_t> type;  // of the problem, per type here
  std::vector<int> row;           // per job of the problem; -1 for a job that cannot run
};
LevelProblem make_level_problem(const ShareProblem& problem, std::span<const ShareNeed> needs);

// Devices in use per type, and the change of that with the level. Idling has a slot too, so that
// no branch asks for it.
class Demand {
 public:
  double usage(std::size_t type) const { return usage_[type + 1]; }
  double slope(std::size_t type) const { return slope_[type + 1]; }

  // Adds what a row holds that buys its need from the edge.
  void add(const Edge& edge, LevelRows::Need need, double scale) {
    const auto low = static_cast<std::size_t>(edge.low + 1);
    const auto high = static_cast<std::size_t>(edge.high + 1);
    if (low == high) {
      usage_[high] += scale;
      return;
    }
    const double per_rate = scale / edge.width();
    const double part = (need.rate - edge.low_rate) * per_rate;
    const double change = need.slope * per_rate;
    usage_[high] += part;
    slope_[high] += change;
    usage_[low] += scale - part;
    slope_[low] -= change;
  }

 private:
  std::array<double, kMaxTypes + 1> usage_{};
  std::array<double, kMaxTypes + 1> slope_{};
};

// What all rows buy when each reaches its need at `level` as cheaply as it can.
Demand demand(const LevelRows& rows, std::span<const double> price, double level);

}  // namespace weft::solve

#include "policy/solve/matching.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace weft {
namespace {
constexpr double kUnreached = std::numeric_limits<double>::infinity();
constexpr std::size_t kFree = std::numeric_limits<std::size_t>::max();

class Matching {
 public:
  Matching(std::size_t rows, std::size_t columns, std::span<const double> cost)
      : columns_(columns),
        cost_(cost),
        row_potential_(rows),
        column_potential_(columns),
        row_of_(columns, kFree) {}

  // Finds the cheapest alternating path from `row` to a free column (Dijkstra over columns) and
  // flips it.
  void insert(std::size_t row) {
    std::vector<double> distance(columns_, kUnreached);
    std::vector<std::size_t> before(columns_, kFree);
    std::vector<char> done(columns_);
    std::size_t column = kFree;
    double length = 0;
    for (std::size_t from = row;;) {
      std::size_t next = kFree;
      for (std::size_t c = 0; c < columns_; ++c) {
        if (done[c]) continue;
        const double through =
            length + cost_[from * columns_ + c] - row_potential_[from] - column_potential_[c];
        if (through < distance[c]) {
          distance[c] = through;
          before[c] = column;
        }
        if (next == kFree || distance[c] < distance[next]) next = c;
      }
      CHECK(next != kFree && distance[next] < kUnreached);
      column = next;
      length = distance[column];
      done[column] = 1;
      if (row_of_[column] == kFree) break;
      from = row_of_[column];
    }
    row_potential_[row] += length;
    for (std::size_t c = 0; c < columns_; ++c) {
      if (!done[c] || row_of_[c] == kFree) continue;
      row_potential_[row_of_[c]] += length - distance[c];
      column_potential_[c] -= length - distance[c];
    }
    for (; column != kFree; column = before[column]) {
      row_of_[column] = before[column] == kFree ? row : row_of_[before[column]];
    }
  }

  const std::vector<std::size_t>& row_of() const { return row_of_; }

 private:
  std::size_t columns_;
  std::span<const double> cost_;
  std::vector<double> row_potential_;
  std::vector<double> column_potential_;
  std::vector<std::size_t> row_of_;
};

}  // namespace

std::vector<std::size_t> min_cost_matching(std::size_t rows, std::size_t columns,
                                           std::span<const double> cost) {
  CHECK(rows <= columns && cost.size() == rows * columns);
  Matching matching(rows, columns, cost);
  for (std::size_t row = 0; row < rows; ++row) matching.insert(row);
  std::vector<std::size_t> column_of(rows, kFree);
  for (std::size_t c = 0; c < columns; ++c) {
    if (matching.row_of()[c] != kFree) column_of[matching.row_of()[c]] = c;
  }
  return column_of;
}

std::vector<MachineSlot> allox_schedule(std::span<const double> processing_s,
                                        std::span<const std::size_t> machines) {
  const std::size_t types = machines.size();
  CHECK(types > 0 && processing_s.size() % types == 0);
  const std::size_t jobs = processing_s.size() / types;
  std::vector<MachineSlot> places;
  for (std::size_t t = 0; t < types; ++t) {
    for (std::size_t p = 0; machines[t] > 0 && p < jobs; ++p) {
      places.push_back({t, p % machines[t], p / machines[t]});
    }
  }
  // A forbidden place costs more than all jobs one after the other at their slowest.
  double forbidden = 1;
  for (const double time : processing_s) {
    if (std::isfinite(time)) forbidden += time * static_cast<double>(jobs);
  }
  std::vector<double> cost;
  cost.reserve(jobs * places.size());
  for (std::size_t j = 0; j < jobs; ++j) {
    for (const MachineSlot& place : places) {
      const double time = processing_s[j * types + place.type];
      const auto delayed = static_cast<double>(place.from_last + 1);
      cost.push_back(std::isfinite(time) ? time * delayed : forbidden);
    }
  }
  std::vector<MachineSlot> schedule;
  for (const std::size_t column : min_cost_matching(jobs, places.size(), cost)) {
    schedule.push_back(places[column]);
  }
  for (std::size_t j = 0; j < jobs; ++j) {
    CHECK(std::isfinite(processing_s[j * types + schedule[j].type]));
  }
  return schedule;
}

}  // namespace weft

#include "policy/solve/level_rows.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/check.h"

namespace weft::solve {

void LevelRows::append(const LevelRows& from, std::size_t row) {
  rate.insert(rate.end(), from.rates(row), from.rates(row) + types);
  scale.push_back(from.scale[row]);
  best.push_back(from.best[row]);
  work.push_back(from.work[row]);
  delay.push_back(from.delay[row]);
}

namespace {

// Finds rows by their numbers: an open hash table of row indices.
class RowIndex {
 public:
  RowIndex(const LevelRows& rows, std::size_t jobs) : rows_(rows) {
    std::size_t slots = 16;
    while (slots < 2 * jobs) slots *= 2;
    slot_.assign(slots, -1);
  }

  // The row whose numbers are those of the last row, which may be itself.
  int first_like_last() {
    const auto last = static_cast<int>(rows_.size()) - 1;
    std::size_t at = hash(last) & (slot_.size() - 1);
    while (slot_[at] >= 0 && !alike(slot_[at], last)) at = (at + 1) & (slot_.size() - 1);
    if (slot_[at] < 0) slot_[at] = last;
    return slot_[at];
  }

 private:
  std::size_t hash(int row) const {
    const auto r = static_cast<std::size_t>(row);
    std::uint64_t sum = mixed(1, rows_.work[r]);
    sum = mixed(sum, rows_.delay[r]);
    for (int t = 0; t < rows_.types; ++t) sum = mixed(sum, rows_.rates(r)[t]);
    return static_cast<std::size_t>(sum ^ (sum >> 29));
  }
  static std::uint64_t mixed(std::uint64_t sum, double value) {
    return (sum ^ std::bit_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15ULL;
  }
  bool alike(int a, int b) const {
    const auto i = static_cast<std::size_t>(a);
    const auto j = static_cast<std::size_t>(b);
    return rows_.work[i] == rows_.work[j] && rows_.delay[i] == rows_.delay[j] &&
           std::equal(rows_.rates(i), rows_.rates(i) + rows_.types, rows_.rates(j));
  }

  const LevelRows& rows_;
  std::vector<int> slot_;
};

}  // namespace

void LevelRows::drop_last() {
  rate.resize(rate.size() - static_cast<std::size_t>(types));
  scale.pop_back();
  best.pop_back();
  work.pop_back();
  delay.pop_back();
}

LevelProblem make_level_problem(const ShareProblem& problem, std::span<const ShareNeed> needs) {
  CHECK(needs.size() == problem.jobs());
  CHECK(problem.throughput.size() == problem.jobs() * problem.types());
  LevelProblem level;
  for (std::size_t t = 0; t < problem.types(); ++t) {
    if (problem.capacity[t] <= 0) continue;
    level.type.push_back(t);
    level.capacity.push_back(problem.capacity[t]);
  }
  CHECK(level.type.size() <= kMaxTypes);
  LevelRows& rows = level.rows;
  rows.types = static_cast<int>(level.type.size());
  RowIndex index(rows, problem.jobs());
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    CHECK(problem.scale[j] > 0 && needs[j].work > 0 && needs[j].delay >= 0);
    double best = 0;
    for (std::size_t t = 0; t < level.type.size(); ++t) {
      const bool fits = problem.scale[j] <= level.capacity[t];
      const double rate = fits ? problem.throughput[j * problem.types() + level.type[t]] : 0;
      rows.rate.push_back(rate);
      best = std::max(best, rate);
    }
    rows.scale.push_back(problem.scale[j]);
    rows.best.push_back(best);
    rows.work.push_back(needs[j].work);
    rows.delay.push_back(needs[j].delay);
    const int row = best > 0 ? index.first_like_last() : -1;
    level.row.push_back(row);
    if (row >= 0 && static_cast<std::size_t>(row) + 1 == rows.size()) continue;
    rows.drop_last();
    if (row >= 0) rows.scale[static_cast<std::size_t>(row)] += problem.scale[j];
  }
  return level;
}

Demand demand(const LevelRows& rows, std::span<const double> price, double level) {
  Demand total;
  with_types(rows.types, [&]<int kTypes>() {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const LevelRows::Need need = rows.need(row, level);
      total.add(cheapest_edge<kTypes>(rows.rates(row), price.data(), rows.types, need.rate), need,
                rows.scale[row]);
    }
  });
  return total;
}

}  // namespace weft::solve

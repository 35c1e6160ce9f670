#include <algorithm>
#include <cstring>

#include "fabric/coflow/bundle.h"

namespace weft {
namespace {

// Two numbers at a time, which every x86-64 and ARMv8 has.
constexpr std::uint32_t kLanes = 2;
using Lanes __attribute__((vector_size(kLanes * sizeof(double)))) = double;

Lanes lanes(const double* from) {
  Lanes v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// How a flow's rate comes about: see Bundle.
enum class RateKind { kShared, kShaped, kBoth };

template <RateKind kKind, typename T>
T rate_of(const T& shared, const T& base, double madd) {
  if constexpr (kKind == RateKind::kShared) return shared;
  if constexpr (kKind == RateKind::kShaped) return base * (shared + madd);
  return base * madd + shared;
}

// One row of a bundle's table.
struct Row {
  const double* left;
  const double* base;
  const double* down;  // levels
  double up, madd;
  std::uint32_t columns;
};

// The largest share of what is left that goes in a second.
template <RateKind kKind>
double fastest_in(const Row& row) {
  Lanes most = {};
  const Lanes up = Lanes{} + row.up;
  std::uint32_t j = 0;
  for (; j + kLanes <= row.columns; j += kLanes) {
    const Lanes down = lanes(row.down + j), left = lanes(row.left + j);
    const Lanes rate = rate_of<kKind>(Lanes(up < down ? up : down), lanes(row.base + j), row.madd);
    const Lanes share = left > 0 ? rate / left : Lanes{};
    most = share > most ? share : most;
  }
  double result = std::max(most[0], most[1]);
  for (; j < row.columns; ++j) {
    if (row.left[j] <= 0) continue;
    const double shared = std::min(row.up, row.down[j]);
    result = std::max(result, rate_of<kKind>(shared, row.base[j], row.madd) / row.left[j]);
  }
  return result;
}

struct Moved {
  double left = 0;     // of the row
  bool ended = false;  // at least one flow
};

// Moves the row's flows for `time`, writes what is left to `left` and adds it to `column_left`.
template <RateKind kKind>
Moved move_row(const Row& row, double time, double* left, double* column_left) {
  Lanes sums = {};
  auto gone = sums > sums;
  const Lanes up = Lanes{} + row.up;
  std::uint32_t j = 0;
  for (; j + kLanes <= row.columns; j += kLanes) {
    const Lanes down = lanes(row.down + j), before = lanes(row.left + j);
    const Lanes rate = rate_of<kKind>(Lanes(up < down ? up : down), lanes(row.base + j), row.madd);
    Lanes after = before - rate * time;
    after = after >= kDoneBytes ? after : Lanes{};  // also where no level is finite
    gone |= (before > 0) & (after <= 0);
    std::memcpy(left + j, &after, sizeof after);
    sums += after;
    const Lanes column = lanes(column_left + j) + after;
    std::memcpy(column_left + j, &column, sizeof column);
  }
  Moved moved{sums[0] + sums[1], (gone[0] | gone[1]) != 0};
  for (; j < row.columns; ++j) {
    const double shared = std::min(row.up, row.down[j]);
    const double before = row.left[j];
    const double after = before - rate_of<kKind>(shared, row.base[j], row.madd) * time;
    left[j] = after >= kDoneBytes ? after : 0;
    moved.left += left[j];
    moved.ended |= before > 0 && left[j] <= 0;
    column_left[j] += left[j];
  }
  return moved;
}

RateKind kind_of(const Bundle& b) {
  if (b.base.empty()) return RateKind::kShared;
  if (b.fill == BundleFill::kProportional) return RateKind::kShaped;
  return b.madd > 0 ? RateKind::kBoth : RateKind::kShared;
}

// Counts the flows anew. Returns how many are gone.
std::uint32_t count_flows(Bundle& b) {
  const std::uint32_t before = b.flows_left;
  std::fill(b.link_flows.begin() + b.rows, b.link_flows.end(), 0u);
  b.flows_left = 0;
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    if (b.link_flows[i] == 0) continue;
    const double* left = &b.left[std::size_t{i} * b.columns];
    std::uint32_t flows = 0;
    for (std::uint32_t j = 0; j < b.columns; ++j) {
      const std::uint32_t one = left[j] > 0;
      flows += one;
      b.link_flows[b.rows + j] += one;
    }
    b.link_flows[i] = flows;
    b.flows_left += flows;
  }
  return before - b.flows_left;
}

Row row_of(const Bundle& b, std::uint32_t i, RateKind kind) {
  const std::size_t at = std::size_t{i} * b.columns;
  const double* base = kind == RateKind::kShared ? &b.left[at] : &b.base[at];
  return {&b.left[at], base, &b.level[b.rows], b.level[i], b.madd, b.columns};
}

}  // namespace

Seconds first_end(const Bundle& b) {
  const RateKind kind = kind_of(b);
  double fastest = 0;
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    if (b.link_flows[i] == 0 || (b.level[i] <= 0 && b.madd <= 0)) continue;
    const Row row = row_of(b, i, kind);
    const double share = kind == RateKind::kShared   ? fastest_in<RateKind::kShared>(row)
                         : kind == RateKind::kShaped ? fastest_in<RateKind::kShaped>(row)
                                                     : fastest_in<RateKind::kBoth>(row);
    fastest = std::max(fastest, share);
  }
  return fastest > 0 ? b.since + 1 / fastest : kNever;
}

std::uint32_t advance(Bundle& b, Seconds now) {
  const Seconds time = now - b.since;
  b.since = now;
  if (time <= 0) return 0;
  const RateKind kind = kind_of(b);
  const double total_before = b.total_left;
  std::fill(b.link_left.begin() + b.rows, b.link_left.end(), 0.0);
  b.total_left = 0;
  bool ended = false;
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    if (b.link_flows[i] == 0) continue;
    const Row row = row_of(b, i, kind);
    double* left = &b.left[std::size_t{i} * b.columns];
    double* columns = &b.link_left[b.rows];
    const Moved moved =
        kind == RateKind::kShared   ? move_row<RateKind::kShared>(row, time, left, columns)
        : kind == RateKind::kShaped ? move_row<RateKind::kShaped>(row, time, left, columns)
                                    : move_row<RateKind::kBoth>(row, time, left, columns);
    b.link_left[i] = moved.left;
    b.total_left += moved.left;
    ended |= moved.ended;
  }
  b.sent += total_before - b.total_left;
  return ended ? count_flows(b) : 0;
}

}  // namespace weft

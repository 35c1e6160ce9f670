// The inner loops of bundles: one row of a table of flows at a time, several numbers at once.
#pragma once

#include <cstdint>

namespace weft {

// The rate of flow j is base[j] * (madd + shaped * shared) + plain * shared, where `shared` is the
// lesser of `up` and down[j], and one of `shaped` and `plain` is 1 and the other 0.
struct FlowRow {
  const double* base;
  const double* down;
  double up, madd, shaped, plain;
  std::uint32_t columns;
};

// Takes rate * time from every left[j] and sets what falls below `done` to 0. Returns how many
// flows have bytes left.
std::uint32_t move_row(const FlowRow& row, double time, double done, double* left);

// The largest rate / left over the flows with bytes; 0: none moves.
double fastest_in_row(const FlowRow& row, const double* left);

}  // namespace weft

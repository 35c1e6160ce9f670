// Built for whole vectors: g++ vectorises at -O3 only, and wider ones are used where the processor
// has them. No sum is reordered by that, so every machine gives the same numbers.
#pragma GCC optimize("O3")
#include "fabric/coflow/row_kernels.h"

#include <bit>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__)
#define WEFT_WIDE __attribute__((target("avx2")))
#else
#define WEFT_WIDE
#endif
#define WEFT_BODY inline __attribute__((always_inline))

namespace weft {
namespace {

bool has_wide() {
#if defined(__x86_64__) && defined(__GNUC__)
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
#else
  return false;
#endif
}

WEFT_BODY double rate_of(const FlowRow& row, std::uint32_t j) {
  const double down = row.down[j];
  const double shared = row.up < down ? row.up : down;
  return row.base[j] * (row.madd + row.shaped * shared) + row.plain * shared;
}

WEFT_BODY std::uint32_t move_body(const FlowRow& row, double time, double done,
                                  double* __restrict__ left) {
  for (std::uint32_t j = 0; j < row.columns; ++j) {
    const double after = left[j] - rate_of(row, j) * time;
    left[j] = after >= done ? after : 0.0;  // also where no level is finite
  }
  std::uint64_t flows = 0;
  for (std::uint32_t j = 0; j < row.columns; ++j) flows += left[j] > 0 ? 1 : 0;
  return static_cast<std::uint32_t>(flows);
}

// Numbers that are not negative compare like the integers of the same bits, and a largest integer
// can be found in any order.
WEFT_BODY double fastest_body(const FlowRow& row, const double* __restrict__ left) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::int64_t most = 0;
  for (std::uint32_t j = 0; j < row.columns; ++j) {
    const double bytes = left[j] > 0 ? left[j] : kInfinity;
    const auto share = std::bit_cast<std::int64_t>(rate_of(row, j) / bytes);
    most = share > most ? share : most;
  }
  return std::bit_cast<double>(most);
}

// `base` may be the row of `left` itself; the loops above only need that it does not overlap
// otherwise, and then they read before they write.
WEFT_WIDE std::uint32_t move_wide(const FlowRow& row, double time, double done, double* left) {
  return move_body(row, time, done, left);
}
WEFT_WIDE double fastest_wide(const FlowRow& row, const double* left) {
  return fastest_body(row, left);
}

}  // namespace

std::uint32_t move_row(const FlowRow& row, double time, double done, double* left) {
  return has_wide() ? move_wide(row, time, done, left) : move_body(row, time, done, left);
}

double fastest_in_row(const FlowRow& row, const double* left) {
  return has_wide() ? fastest_wide(row, left) : fastest_body(row, left);
}

}  // namespace weft

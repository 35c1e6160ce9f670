// Built for whole vectors: g++ vectorises at -O3 only, and wider ones are used where the processor
// has them. Sums stand in an order of their own (four at a time), so every machine gives the same
// numbers.
#pragma GCC optimize("O3")
#include "fabric/coflow/link_kernels.h"

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

WEFT_BODY void take_body(double level, const double* __restrict__ weight,
                         const double* __restrict__ open, std::uint32_t count,
                         double* __restrict__ room, double* __restrict__ across) {
  for (std::uint32_t o = 0; o < count; ++o) {
    const double taken = weight[o] * open[o];
    const double after = room[o] - level * taken;
    room[o] = after > 0 ? after : 0.0;
    across[o] -= taken;
  }
}

WEFT_BODY double open_body(const double* weight, const double* open, std::uint32_t count) {
  double sum[4] = {0, 0, 0, 0};
  std::uint32_t o = 0;
  for (; o + 4 <= count; o += 4) {
    for (int lane = 0; lane < 4; ++lane) sum[lane] += weight[o + lane] * open[o + lane];
  }
  for (; o < count; ++o) sum[0] += weight[o] * open[o];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

WEFT_BODY double least_body(const double* marks, std::uint32_t count) {
  double least[4] = {kInfinity, kInfinity, kInfinity, kInfinity};
  std::uint32_t o = 0;
  for (; o + 4 <= count; o += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      least[lane] = marks[o + lane] < least[lane] ? marks[o + lane] : least[lane];
    }
  }
  for (; o < count; ++o) least[0] = marks[o] < least[0] ? marks[o] : least[0];
  for (int lane = 1; lane < 4; ++lane) least[0] = least[lane] < least[0] ? least[lane] : least[0];
  return least[0];
}

WEFT_BODY double add_body(double scale, double shift, const double* __restrict__ marks,
                          std::uint32_t count, double* __restrict__ across) {
  double sum[4] = {0, 0, 0, 0};
  std::uint32_t o = 0;
  for (; o + 4 <= count; o += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      const double mark = marks[o + lane];
      const double bytes = mark < kInfinity ? scale * (mark - shift) : 0.0;
      sum[lane] += bytes;
      across[o + lane] += bytes;
    }
  }
  for (; o < count; ++o) {
    const double bytes = marks[o] < kInfinity ? scale * (marks[o] - shift) : 0.0;
    sum[0] += bytes;
    across[o] += bytes;
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

WEFT_WIDE void take_wide(double level, const double* weight, const double* open,
                         std::uint32_t count, double* room, double* across) {
  take_body(level, weight, open, count, room, across);
}
WEFT_WIDE double open_wide(const double* weight, const double* open, std::uint32_t count) {
  return open_body(weight, open, count);
}
WEFT_WIDE double least_wide(const double* marks, std::uint32_t count) {
  return least_body(marks, count);
}
WEFT_WIDE double add_wide(double scale, double shift, const double* marks, std::uint32_t count,
                          double* across) {
  return add_body(scale, shift, marks, count, across);
}

}  // namespace

void take_from_across(double level, const double* weight, const double* open, std::uint32_t count,
                      double* room_across, double* weight_across) {
  if (has_wide()) {
    take_wide(level, weight, open, count, room_across, weight_across);
  } else {
    take_body(level, weight, open, count, room_across, weight_across);
  }
}

double open_weight(const double* weight, const double* open, std::uint32_t count) {
  return has_wide() ? open_wide(weight, open, count) : open_body(weight, open, count);
}

double least_of(const double* marks, std::uint32_t count) {
  return has_wide() ? least_wide(marks, count) : least_body(marks, count);
}

double add_bytes(double scale, double shift, const double* marks, std::uint32_t count,
                 double* across) {
  return has_wide() ? add_wide(scale, shift, marks, count, across)
                    : add_body(scale, shift, marks, count, across);
}

}  // namespace weft

// Internal to the share solvers: what one job buys at given prices.
#pragma once

#include <cstddef>

namespace weft::solve {

inline constexpr int kMaxTypes = 16;
inline constexpr int kIdle = -1;

// A mix of two neighbouring corners of the lower convex envelope of a job's points (throughput,
// price), one per type, and idling at (0, 0). `low` may be kIdle; low == high is a single corner.
struct Edge {
  int low = kIdle;
  int high = kIdle;
  double low_rate = 0;
  double low_price = 0;
  double high_rate = 0;
  double high_price = 0;

  double width() const { return high_rate - low_rate; }
};

// The next corner of the envelope to the right of (rate, price): that of the smallest slope, ties
// to the lower type; kIdle where no type is faster. Free of branches, because which type it is
// looks random from job to job.
template <int kTypes>
inline int next_corner(const double* rates, const double* prices, int types, double rate,
                       double price) {
  const int count = kTypes > 0 ? kTypes : types;
  int next = kIdle;
  double run = 0;
  double rise = 1;  // the first type to the right wins against the vertical
#pragma GCC unroll 4
  for (int t = 0; t < count; ++t) {
    const double dx = rates[t] - rate;
    const double dy = prices[t] - price;
    const bool better = (dx > 0) & (dy * run < rise * dx);
    next = better ? t : next;
    run = better ? dx : run;
    rise = better ? dy : rise;
  }
  return next;
}

// The cheapest mix that reaches throughput `need`, walking the envelope to the right from the
// corner `start`. With kTypes > 0 the number of types is known to the compiler.
// Requires: need is at most the largest rate.  Cost: types per corner passed, mostly one or two.
template <int kTypes>
inline Edge cheapest_edge(const double* rate, const double* price, int types, double need,
                          Edge start = {}) {
  Edge edge = start;
  for (;;) {
    const int next = next_corner<kTypes>(rate, price, types, edge.low_rate, edge.low_price);
    if (next == kIdle) {  // nothing faster: the corner itself
      edge.high = edge.low;
      edge.high_rate = edge.low_rate;
      edge.high_price = edge.low_price;
      return edge;
    }
    edge.high = next;
    edge.high_rate = rate[next];
    edge.high_price = price[next];
    if (edge.high_rate >= need) return edge;
    edge.low = next;
    edge.low_rate = edge.high_rate;
    edge.low_price = edge.high_price;
  }
}

// Calls f with the number of types as a compile-time constant where it is small, else with 0.

template <typename F>
inline void with_types(int types, F&& f) {
  switch (types) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    case 4:
      return f.template operator()<4>();
    default:
      return f.template operator()<0>();
  }
}

}  // namespace weft::solve

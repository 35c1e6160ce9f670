// The inner loops of bundles: the flows of one link at a time, several numbers at once.
#pragma once

#include <cstdint>
#include <limits>

namespace weft {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A link is full at `level` per weight: takes what its flows get, weight[o] * open[o] each, out of
// what the links across have: room (not below 0) and weight.
void take_from_across(double level, const double* weight, const double* open, std::uint32_t count,
                      double* room_across, double* weight_across);

// The sum of weight[o] * open[o].
double open_weight(const double* weight, const double* open, std::uint32_t count);

// The least of `marks`; infinite without any.
double least_of(const double* marks, std::uint32_t count);

// Adds scale * (mark - shift) of every finite mark to `across`. Returns their sum.
double add_bytes(double scale, double shift, const double* marks, std::uint32_t count,
                 double* across);

}  // namespace weft

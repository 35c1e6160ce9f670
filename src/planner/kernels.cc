#include "planner/kernels.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace weft::planner {
namespace {

constexpr double kBytes = 2;  // of a 16-bit number
// What filling and draining the pipeline of one tile costs, as depth: fitted to measured products.
constexpr double kTileFill = 80;
// The smallest tile reaches this part of what the one above it does.
constexpr double kSmallest = 0.8;

}  // namespace

double product_seconds(const Device& d, const Product& p) {
  const struct {
    double rows, columns, efficiency;
  } tiles[] = {{256, 128, d.tile_efficiency[0]},
               {128, 128, d.tile_efficiency[1]},
               {128, 64, d.tile_efficiency[2]},
               {64, 64, d.tile_efficiency[2] * kSmallest}};
  const double flops_per_s = d.peak_flops / d.processors;
  double compute = kNever;
  for (const auto& tile : tiles) {
    const double count =
        p.batch * std::ceil(p.rows / tile.rows) * std::ceil(p.columns / tile.columns);
    const double waves = std::ceil(count / d.processors);
    const double each = 2 * tile.rows * tile.columns * (p.depth + kTileFill);
    compute = std::min(compute, waves * each / (flops_per_s * tile.efficiency));
  }
  const double moved =
      kBytes * p.batch * (p.rows * p.depth + p.depth * p.columns + p.rows * p.columns);
  return d.kernel_s + std::max(compute, moved / (d.memory_bytes_per_s * d.memory_efficiency));
}

double traffic_seconds(const Device& d, double bytes) {
  return d.kernel_s + bytes / (d.memory_bytes_per_s * d.memory_efficiency);
}

}  // namespace weft::planner

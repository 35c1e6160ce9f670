// Rates layer by layer from one budget.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"

namespace weft::codec {

struct LayerNorm {
  std::size_t size = 0;
  double norm = 0;  // 2-norm of its gradient
};

// The share of values that each layer should send so that all send `rate` of all values and the
// energy that stays behind is least. One more value is worth its square, so at the best choice the
// smallest value sent is the same in every layer; with magnitudes exponential around the layer's
// size, as gradients roughly are, a threshold t means the share exp(−t √(2 n) / norm). A layer of
// zeros sends `least`.
// Ensures: each between `least` and 1; an error for a rate outside (0, 1], a least above the rate,
// or a norm that is not finite. Cost: 100 passes over the layers.
Result<std::vector<double>> layer_rates(std::span<const LayerNorm> layers, double rate,
                                        double least);

}  // namespace weft::codec

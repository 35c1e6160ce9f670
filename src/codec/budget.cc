#include "codec/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::codec {
namespace {

double share_above(const LayerNorm& layer, double threshold, double least) {
  if (layer.norm <= 0) return least;
  const double spread = layer.norm / std::sqrt(2.0 * static_cast<double>(layer.size));
  return std::clamp(std::exp(-threshold / spread), least, 1.0);
}

}  // namespace

Result<std::vector<double>> layer_rates(std::span<const LayerNorm> layers, double rate,
                                        double least) {
  if (!(rate > 0 && rate <= 1) || !(least >= 0 && least <= rate)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("rate is {} and the least {}; they must be 0 <= least <= rate <= 1",
                             rate, least),
                 ""};
  }
  double total = 0, widest = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!std::isfinite(layers[i].norm) || layers[i].norm < 0) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("the norm of layer {} is {}", i, layers[i].norm), ""};
    }
    total += static_cast<double>(layers[i].size);
    widest = std::max(widest, layers[i].norm);
  }
  const auto sent = [&](double threshold) {
    double sum = 0;
    for (const LayerNorm& layer : layers) {
      sum += static_cast<double>(layer.size) * share_above(layer, threshold, least);
    }
    return sum;
  };
  // Shares fall as the threshold rises; at 800 spreads of the widest layer all are at their least.
  double low = 0, high = 800 * widest;
  for (int i = 0; i < 100; ++i) {
    const double middle = low + (high - low) / 2;
    (sent(middle) > rate * total ? low : high) = middle;
  }
  std::vector<double> rates;
  for (const LayerNorm& layer : layers) rates.push_back(share_above(layer, high, least));
  return rates;
}

}  // namespace weft::codec

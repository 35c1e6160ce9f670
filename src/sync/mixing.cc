#include "sync/mixing.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::sync {

std::vector<MixingEntry> mixing_row(Graph graph, std::uint32_t ranks, std::uint64_t round) {
  CHECK(ranks >= 1);
  std::vector<std::uint32_t> offsets = {0};
  if (graph == Graph::kRing) {
    if (ranks > 1) offsets.push_back(1);
    if (ranks > 2) offsets.push_back(ranks - 1);
  } else {
    for (std::uint64_t away = 1; away < ranks; away *= 2) {
      offsets.push_back(static_cast<std::uint32_t>(away));
    }
    if (graph == Graph::kOnePeer && ranks > 1) {
      offsets = {0, offsets[1 + round % (offsets.size() - 1)]};
    }
  }
  std::vector<MixingEntry> row;
  for (const std::uint32_t offset : offsets) {
    row.push_back({offset, 1.0 / static_cast<double>(offsets.size())});
  }
  return row;
}

std::vector<std::vector<double>> mixing_matrix(Graph graph, std::uint32_t ranks,
                                               std::uint64_t round) {
  std::vector<std::vector<double>> matrix(ranks, std::vector<double>(ranks));
  for (const MixingEntry& entry : mixing_row(graph, ranks, round)) {
    for (std::uint32_t i = 0; i < ranks; ++i) {
      matrix[i][(i + ranks - entry.offset) % ranks] += entry.weight;
    }
  }
  return matrix;
}

double spectral_gap(const std::vector<MixingEntry>& row, std::uint32_t ranks) {
  double largest = 0;
  for (std::uint32_t k = 1; k < ranks; ++k) {
    double real = 0, imaginary = 0;
    for (const MixingEntry& entry : row) {
      const std::uint64_t turns = std::uint64_t{entry.offset} * k % ranks;
      const double angle = 2 * std::numbers::pi * static_cast<double>(turns) / ranks;
      real += entry.weight * std::cos(angle);
      imaginary += entry.weight * std::sin(angle);
    }
    largest = std::max(largest, std::hypot(real, imaginary));
  }
  return 1 - largest;
}

}  // namespace weft::sync

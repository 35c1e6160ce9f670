// Decentralised averaging: who mixes with whom, by how much, and how fast that agrees.
#pragma once

#include <cstdint>
#include <vector>

#include "sync/mode.h"

namespace weft::sync {

// Rank i takes `weight` of the parameters of rank i - offset (counted round the ring of all ranks)
// and sends its own to rank i + offset. Offset 0 is what it keeps.
struct MixingEntry {
  std::uint32_t offset = 0;
  double weight = 0;
};

// The row that every rank has, so that the matrix is circulant and doubly stochastic. Offsets are
// distinct and ascend from 0.
// kRing: both neighbours and itself, a third each. kExponential: itself and the ranks 1, 2, 4, …
// away, alike. kOnePeer: one of those, half and half, the next one in every round; after
// ⌈log2 n⌉ rounds all agree exactly when n is a power of 2 (Ying et al. 2021).
// Requires: ranks >= 1.
std::vector<MixingEntry> mixing_row(Graph graph, std::uint32_t ranks, std::uint64_t round);

// The whole matrix by rows, for tests and tables. Cost: O(ranks²).
std::vector<std::vector<double>> mixing_matrix(Graph graph, std::uint32_t ranks,
                                               std::uint64_t round);

// By how much one round of a row shrinks disagreement at worst: its norm on vectors that add up to
// 0 falls to the factor 1 - gap. Circulant matrices are normal, so this is 1 - the second largest
// modulus of an eigenvalue, which are the row's Fourier coefficients. 1 for one rank. Cost:
// O(ranks × entries).
double spectral_gap(const std::vector<MixingEntry>& row, std::uint32_t ranks);

}  // namespace weft::sync

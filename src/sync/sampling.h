// Who works in a round, and who gets which examples: seeded, so that all ranks draw the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::sync {

// Which of the members work in a round: max(1, round(fraction × members)) of them, drawn without
// replacement. Requires: members >= 1, 0 < fraction <= 1. Cost: O(members).
std::vector<bool> participants(std::uint64_t seed, std::uint64_t round, std::size_t members,
                               double fraction);

// How examples are dealt out to ranks: "iid", "dirichlet:0.1" (label shares by rank drawn from a
// Dirichlet distribution; Hsu et al. 2019), "shards:2" (sorted by label, so many runs to each rank;
// McMahan et al. 2017), "quantity:0.5" (labels alike, numbers of examples from a Dirichlet
// distribution; Li et al. 2022).
struct DataSplit {
  enum class Kind : std::uint8_t { kIid, kDirichlet, kShards, kQuantity };
  Kind kind = Kind::kIid;
  double alpha = 0;          // of the Dirichlet distributions; small: uneven
  std::uint32_t shards = 0;  // for each rank

  bool operator==(const DataSplit&) const = default;
};
Result<DataSplit> parse_data_split(std::string_view text);
std::string data_split_text(const DataSplit& split);

// The examples of each rank, ascending. Ensures: every example goes to exactly one rank; no rank is
// empty; the same arguments give the same split on every machine. Requires: ranks >= 1, at least
// as many examples as ranks; for shards: as many as shards of all ranks. Cost: O(n log n).
std::vector<std::vector<std::uint32_t>> split_data(const DataSplit& split,
                                                   std::span<const std::uint32_t> labels,
                                                   std::uint32_t ranks, std::uint64_t seed);

}  // namespace weft::sync

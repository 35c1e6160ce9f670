// Orders of whole transfers from what computations wait for: TicTac.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace weft {

// A computation and every transfer that must have arrived before it, also those that earlier
// computations on its way wait for.
struct Waiting {
  Seconds seconds = 0;
  std::vector<std::uint32_t> transfers;  // each once
};

// TIC and TAC of TicTac (Hashemi et al., MLSys '19): transfers in the order in which they should
// go. TIC looks at the graph alone: a transfer's key is the least number of transfers that some
// computation which needs it needs in all.
std::vector<std::uint32_t> tic_order(std::span<const Waiting> computations,
                                     std::uint32_t transfers);
// TAC knows times: picks again and again the transfer a before b if
//   min(P_b, M_a) < min(P_a, M_b),
// where M is a transfer's own time and P the computation that it alone still holds up; among
// equals, the one that belongs to the computation with the least transfer time outstanding, then
// the lower index. Cost: O(transfers × sizes of the waiting lists).
std::vector<std::uint32_t> tac_order(std::span<const Waiting> computations,
                                     std::span<const Seconds> transfer_s);

}  // namespace weft

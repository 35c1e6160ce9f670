// What a mode costs on the wire and in progress, for cost models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sync/mode.h"

namespace weft::sync {

// Means over many steps. Bytes are for `bytes` of parameters without a codec; rings move 2 (n-1)/n
// of them for an average over n ranks, and every other all-reduce that wastes nothing does too.
struct SyncCost {
  double exchanges = 0;    // per step: averages, or round trips to servers, of the parameters
  double sent_bytes = 0;   // per step by one rank, the mean over ranks; to ranks outside its group
                           // and inside it
  double group_bytes = 0;  // of those: inside the group of a hierarchy
  double busiest_bytes = 0;        // per step by the rank that sends most
  double peak_bytes = 0;           // sent by one rank for one exchange
  std::uint32_t hidden_steps = 0;  // that an exchange may take before a rank waits for it
  bool waits_for_all = true;       // the slowest rank sets the pace
  bool at_most = false;            // exchanges depend on the data; this is their upper limit
};
// `servers`: ranks that hold shards, 1 to ranks; used by kServers only. Requires: ranks >= 1.
SyncCost sync_cost(const Mode& mode, std::uint32_t ranks, std::uint32_t servers, double bytes);

// Progress per step relative to bsp with as many ranks, where it is known, and from where.
struct SyncEfficiency {
  double value = 1;
  std::string source;
};
// `adaptive`: the ranks' optimizer divides by the size that gradients had, as Adam does; nothing:
// not known, and the lesser counts.
std::optional<SyncEfficiency> sync_efficiency(const Mode& mode, std::uint32_t ranks,
                                              std::optional<bool> adaptive = {});

}  // namespace weft::sync

// Whose bytes go first where links are short.
#pragma once

#include <cstdint>

namespace weft {

// How jobs share a link that is asked for more than it has.
enum class BandwidthSharing : std::uint8_t {
  kFair,        // max-min among the jobs
  kGuarantees,  // every job gets what its configuration was promised, and no more than its limit
  kIntensity,   // who computes most per byte goes first, in few strict levels (Crux, SIGCOMM '24)
};

}  // namespace weft

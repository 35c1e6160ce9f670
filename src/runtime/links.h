// How fast messages travel between the ranks of a group: two numbers for each kind of pair, and one
// for the adding. Measured when the group starts (link_probe.h), agreed on by all ranks and handed
// to those that join, so that all choose the same algorithms.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace weft::runtime {

struct LinkSpeed {
  Seconds message_s = 0;   // until a small message is with the peer
  double bytes_per_s = 0;  // from one rank to another, one way, while all others do the same
  bool operator==(const LinkSpeed&) const = default;
};

// The defaults hold where nothing was measured: shared memory, and TCP between hosts.
struct LinkSpeeds {
  LinkSpeed same_host = {0.6e-6, 12e9};
  LinkSpeed other_host = {60e-6, 1e9};
  double add_bytes_per_s = 30e9;  // adding two buffers in the cache
  bool operator==(const LinkSpeeds&) const = default;
};

// In the order of the fields above, for wires.
inline constexpr std::size_t kLinkNumbers = 5;
std::array<double, kLinkNumbers> numbers_of(const LinkSpeeds& links);
// From another process: each must be above 0 and finite.
Result<LinkSpeeds> links_of(const std::array<double, kLinkNumbers>& numbers);

// "0.6us,12GB/s,60us,1GB/s,30GB/s": as WEFT_LINKS has it.
std::string to_text(const LinkSpeeds& links);
Result<LinkSpeeds> parse_links(std::string_view text);

// The nearest powers of four: what is decided by them does not hang on the noise of a measurement.
LinkSpeeds rounded(const LinkSpeeds& links);

}  // namespace weft::runtime

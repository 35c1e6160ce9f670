// How long what fails again and again waits before it is tried again: jobs, in both worlds, and
// ranks and replicas of the live one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace weft {

struct BackOff {
  Seconds first = 1, most = 64;

  // Before the next try after the n-th failure in a row: nothing after the first, whose cause may
  // be gone, then `first`, twice that, four times that ..., at most `most`.
  Seconds pause(std::uint32_t in_row) const {
    if (in_row <= 1) return 0;
    return std::min(most, std::ldexp(first, static_cast<int>(std::min(in_row - 2, 60u))));
  }
  // How many in a row a failure makes, after so many and a run of this length: one that lasted
  // longer than the longest pause had nothing to do with those before.
  std::uint32_t next_in_row(std::uint32_t before, Seconds ran) const {
    return ran > most ? 1 : before + 1;
  }
};

}  // namespace weft

// Share, the fifth part of a policy: who may sit together on one device, with what loss?
#pragma once

#include "policy/state.h"

namespace weft {

// Two gangs of equal size share all their devices, half of each device for either.
class Sharer {
 public:
  virtual ~Sharer() = default;

  // How good it is that `guest`, which waits, joins `host`, which is alone on its devices.
  // 0 or less: it may not. Requires: both ask for equally many whole devices.
  virtual double gain(const State& state, const JobState& guest, const JobState& host) const = 0;
  // No gain is larger; a search may stop there. Hosts are offered in order of their start.
  virtual double best_gain() const { return kNever; }
  // True: hosts are found for all waiting jobs together, by the matching of largest total gain, and
  // not for one after the other.
  virtual bool matches() const { return false; }
};

// The half of each device that a job keeps when another joins it.
inline constexpr std::uint16_t kHalf = kWhole / 2;

// The same devices, configuration and hosts with another share of every device.
Allocation with_share(const Allocation& held, std::uint16_t milli);

// The nodes of `held` are in service and have the processors and memory that the job's
// configuration needs beside what they carry now.
bool fits_beside(const State& state, const JobState& guest, const Configuration& configuration,
                 const Allocation& held);

}  // namespace weft

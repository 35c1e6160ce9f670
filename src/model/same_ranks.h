// Which changes of configuration a running job takes without a restart.
#pragma once

#include "model/workload.h"

namespace weft {

// Equal but for these members.
template <typename... Members>
bool equal_but_for(Configuration a, const Configuration& b, Members... members) {
  ((a.*members = b.*members), ...);
  return a == b;
}

// True if a running job can go from one to the other without a restart: they differ at most in what
// is held beside the devices and in how fast that makes the job.
inline bool same_ranks(const Configuration& a, const Configuration& b) {
  using C = Configuration;
  return &a == &b || equal_but_for(a, b, &C::cpu_milli, &C::host_memory, &C::storage_bytes_per_s,
                                   &C::network_guarantee, &C::network_limit, &C::rate,
                                   &C::scattered_rate, &C::seconds_per_step);
}

// True if ranks that run by one can go on by the other: there are more or fewer of them.
inline bool same_members(const Configuration& a, const Configuration& b) {
  using C = Configuration;
  return equal_but_for(a, b, &C::devices, &C::pack, &C::pack_required, &C::rate, &C::scattered_rate,
                       &C::seconds_per_step);
}

}  // namespace weft

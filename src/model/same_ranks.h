// Which changes of configuration a running job takes without a restart.
#pragma once

#include "model/workload.h"

namespace weft {

// True if a running job can go from one to the other without a restart: they differ at most in what
// is held beside the devices and in how fast that makes the job.
inline bool same_ranks(const Configuration& a, const Configuration& b) {
  if (&a == &b) return true;
  Configuration like_b = a;
  like_b.cpu_milli = b.cpu_milli;
  like_b.host_memory = b.host_memory;
  like_b.storage_bytes_per_s = b.storage_bytes_per_s;
  like_b.network_guarantee = b.network_guarantee;
  like_b.network_limit = b.network_limit;
  like_b.rate = b.rate;
  like_b.scattered_rate = b.scattered_rate;
  like_b.seconds_per_step = b.seconds_per_step;
  return like_b == b;
}

// True if ranks that run by one can go on by the other: there are more or fewer of them.
inline bool same_members(const Configuration& a, const Configuration& b) {
  Configuration like_b = a;
  like_b.devices = b.devices;
  like_b.pack = b.pack;
  like_b.pack_required = b.pack_required;
  like_b.rate = b.rate;
  like_b.scattered_rate = b.scattered_rate;
  like_b.seconds_per_step = b.seconds_per_step;
  return like_b == b;
}

}  // namespace weft

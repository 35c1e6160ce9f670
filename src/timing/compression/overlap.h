// How the averages of a step share a rank's processor and its wire with computing.
//
// An average goes through passes: coding, wire, coding, wire, coding. The processor is shared
// evenly by everything that is ready for it, as an operating system shares it between threads:
// computing, until the last bucket is ready, and every coding under way. The wire carries one pass
// at a time and then the waiting one of the latest bucket, as averages have their priorities. So
// the wire lies idle while a pass of coding is under way and no other bucket has anything to send.
#pragma once

#include <vector>

#include "base/units.h"

namespace weft {

// Of one bucket: coding[0], wire[0], coding[1], ..., wire[n - 1], coding[n].
struct AveragePasses {
  Seconds computed_s = 0;  // of computing, without the averages, before the bucket is ready
  std::vector<Seconds> coding, wire;
};

// When all buckets are ready and all averages are there, from the begin of the step. kNever where a
// pass takes for ever. Cost: O(passes · buckets). Requires: coding.size() == wire.size() + 1.
Seconds averages_end(const std::vector<AveragePasses>& buckets);

}  // namespace weft

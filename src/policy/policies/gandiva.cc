// Gandiva: equal time slices, and random pairs on shared devices that are kept while they gain.
#include "policy/policies/policies.h"

namespace weft::policies {

// Every job, or pair of jobs, has the same part of every device type in turns. While more devices
// are asked for than there are, jobs of equally many devices are put together at random; what both
// report decides whether they stay so. Gangs that do not fit around those that stay are packed anew
// (migration).
Composition gandiva() {
  Composition c;
  c.name = "gandiva";
  c.summary = "equal time slices; pairs of jobs on shared devices by trial, kept while they gain";
  c.source = "Gandiva (OSDI'18): time slicing, packing by trial and migration";
  c.allocate = {"share", {{"objective", "isolated"}}};
  c.share = {"trial", {}};
  return c;
}

}  // namespace weft::policies

// Earliest deadline first: deadlines that are promised are kept.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition edf() {
  Composition c;
  c.name = "edf";
  c.summary = "jobs whose deadlines can be kept are booked ahead; the rest fills in between";
  c.source = "Chronus (SoCC'21): leases, best effort; order of Liu and Layland (JACM 1973)";
  c.allocate = {"reserve", {}};
  return c;
}

}  // namespace weft::policies

// A market over the coming rounds: fair in the long run, and not at the price of the makespan.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition shockwave() {
  Composition c;
  c.name = "shockwave";
  c.summary = "divides the coming rounds so that the product of the jobs' progress is largest";
  c.source = "Shockwave (NSDI'23) §4 to §6: Nash social welfare over time, makespan regulariser";
  c.allocate = {"market", {}};
  return c;
}

}  // namespace weft::policies

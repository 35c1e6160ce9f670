// Finish-time fairness by leases that are auctioned among the worst-off.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition themis() {
  Composition c;
  c.name = "themis";
  c.summary = "devices whose lease ends go to the jobs that finish latest against an equal share";
  c.source = "Themis (NSDI'20) §4 and §5: finish-time fairness, partial allocation auction";
  c.allocate = {"auction", {}};
  return c;
}

}  // namespace weft::policies

// Guaranteed shares for tenants; what is idle is lent, and reclaimed when its owner needs it.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition quota() {
  Composition c;
  c.name = "quota";
  c.summary = "tenants have guaranteed shares, borrow idle devices, and reclaim by preemption";
  c.source = "the rule of Kueue's cohorts (nominal quota, borrowing, reclaimWithinCohort)";
  c.allocate = {"quota", {}};
  return c;
}

}  // namespace weft::policies

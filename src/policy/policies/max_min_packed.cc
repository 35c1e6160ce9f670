// Fair share of throughput over device types, where pairs of jobs may share devices.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition max_min_packed() {
  Composition c = max_min();
  c.name = "max-min-packed";
  c.summary = "max-min over jobs and measured pairs of jobs that share devices";
  c.source = "Gavel (OSDI'20), space sharing: pairs are rows of the allocation";
  c.share = {"pairs", {}};
  return c;
}

}  // namespace weft::policies

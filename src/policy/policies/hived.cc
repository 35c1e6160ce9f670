// HiveD: tenants own cells, so that sharing a cluster never makes one of them wait longer.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition hived() {
  Composition c;
  c.name = "hived";
  c.summary = "buddy cells; tenants own virtual nodes (quotas), other jobs use what idles";
  c.source = "HiveD (OSDI'20) §3";
  c.allocate = {"cells", {}};
  return c;
}

}  // namespace weft::policies

// Which type and which place in its queue, for the least mean completion time.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition allox() {
  Composition c;
  c.name = "allox";
  c.summary = "jobs matched with device types and queue places for the least mean completion time";
  c.source = "AlloX (EuroSys'20) section 4: min-cost bipartite matching";
  c.allocate = {"matching", {}};
  return c;
}

}  // namespace weft::policies

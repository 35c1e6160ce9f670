// The Gittins index over device time: likely to end soon for what it still costs.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition gittins() {
  Composition c;
  c.name = "gittins";
  c.summary = "best chance to end per device time first, learned from ended jobs (Tiresias)";
  c.source = "Tiresias (NSDI'19) §3.3: discretized 2D-Gittins index";
  c.key = {"gittins", {}};
  c.allocate.settings = {{"preempt", "true"}, {"backfill", "any"}};
  c.place = {"best-fit", {{"scatter", "true"}}};
  return c;
}

}  // namespace weft::policies

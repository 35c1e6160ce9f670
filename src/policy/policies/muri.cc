// Muri: jobs whose stages complement each other interleave on the same devices.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition muri() {
  Composition c;
  c.name = "muri";
  c.summary = "least believed remaining device time first; the rest paired by complementary stages";
  c.source = "Muri (SIGCOMM'22) §4: interleaving efficiency and matching of jobs of equal size";
  c.key = {"remaining", {{"devices", "true"}}};
  c.allocate.settings = {{"backfill", "any"}};
  c.share = {"stages", {}};
  return c;
}

}  // namespace weft::policies

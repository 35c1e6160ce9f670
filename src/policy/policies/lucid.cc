// Lucid: shortest believed device time first, and light jobs share devices.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition lucid() {
  Composition c;
  c.name = "lucid";
  c.summary = "least believed device time first; jobs that suit each other share devices";
  c.source = "Lucid (ASPLOS'23) §3, affine-jobpair binder and resource orchestrator";
  c.key = {"remaining", {{"whole", "true"}, {"devices", "true"}}};
  c.allocate.settings = {{"backfill", "any"}};
  c.share = {"pack", {}};
  return c;
}

}  // namespace weft::policies

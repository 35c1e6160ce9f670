// All jobs done as early as can be.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition makespan() {
  Composition c;
  c.name = "makespan";
  c.summary = "all jobs done as early as can be";
  c.source = "Gavel (OSDI'20) section 4.2";
  c.allocate = {"share", {{"objective", "makespan"}}};
  return c;
}

// The same for a scheduler that cannot tell device types apart: it believes every device to be as
// fast as the fastest type.
Composition makespan_agnostic() {
  Composition c = makespan();
  c.name += "-agnostic";
  c.summary += ", not knowing device types apart";
  c.allocate.settings["aware"] = "false";
  return c;
}

}  // namespace weft::policies

// Fair share of throughput, as equal as can be, over device types.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition max_min() {
  Composition c;
  c.name = "max-min";
  c.summary = "fair share of throughput, as equal as can be, over device types";
  c.source = "Gavel (OSDI'20) section 4.1, with the water filling of section 4.3";
  c.allocate = {"share", {{"objective", "max-min"}}};
  return c;
}

// The same for a scheduler that cannot tell device types apart: it believes every device to be as
// fast as the fastest type.
Composition max_min_agnostic() {
  Composition c = max_min();
  c.name += "-agnostic";
  c.summary += ", not knowing device types apart";
  c.allocate.settings["aware"] = "false";
  return c;
}

}  // namespace weft::policies

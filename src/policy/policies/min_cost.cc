// Most work for the money.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition min_cost() {
  Composition c;
  c.name = "min-cost";
  c.summary = "most work for the money";
  c.source = "Gavel (OSDI'20) section 4.2";
  c.allocate = {"share", {{"objective", "cost"}}};
  return c;
}

// The same for a scheduler that cannot tell device types apart: it believes every device to be as
// fast as the fastest type.
Composition min_cost_agnostic() {
  Composition c = min_cost();
  c.name += "-agnostic";
  c.summary += ", not knowing device types apart";
  c.allocate.settings["aware"] = "false";
  return c;
}

}  // namespace weft::policies

// Most work for the money that still meets the deadlines.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition min_cost_deadline() {
  Composition c;
  c.name = "min-cost-deadline";
  c.summary = "most work for the money that still meets the deadlines";
  c.source = "Gavel (OSDI'20) section 4.2, cost with SLOs";
  c.allocate = {"share", {{"objective", "cost"}, {"deadlines", "true"}}};
  return c;
}

// The same for a scheduler that cannot tell device types apart: it believes every device to be as
// fast as the fastest type.
Composition min_cost_deadline_agnostic() {
  Composition c = min_cost_deadline();
  c.name += "-agnostic";
  c.summary += ", not knowing device types apart";
  c.allocate.settings["aware"] = "false";
  return c;
}

}  // namespace weft::policies

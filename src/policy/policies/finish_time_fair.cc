// Smallest worst ratio of finish time to that on an equal share.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition finish_time_fair() {
  Composition c;
  c.name = "finish-time-fair";
  c.summary = "smallest worst ratio of finish time to that on an equal share";
  c.source = "Gavel (OSDI'20) section 4.2, after Themis (NSDI'20) section 3";
  c.allocate = {"share", {{"objective", "finish-time"}}};
  return c;
}

// The same for a scheduler that cannot tell device types apart: it believes every device to be as
// fast as the fastest type.
Composition finish_time_fair_agnostic() {
  Composition c = finish_time_fair();
  c.name += "-agnostic";
  c.summary += ", not knowing device types apart";
  c.allocate.settings["aware"] = "false";
  return c;
}

}  // namespace weft::policies

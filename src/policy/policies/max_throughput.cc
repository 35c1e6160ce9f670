// Largest sum of throughputs.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition max_throughput() {
  Composition c;
  c.name = "max-throughput";
  c.summary = "largest sum of throughputs";
  c.source = "Gavel (OSDI'20) section 4.2";
  c.allocate = {"share", {{"objective", "throughput"}}};
  return c;
}

// The same for a scheduler that cannot tell device types apart: it believes every device to be as
// fast as the fastest type.
Composition max_throughput_agnostic() {
  Composition c = max_throughput();
  c.name += "-agnostic";
  c.summary += ", not knowing device types apart";
  c.allocate.settings["aware"] = "false";
  return c;
}

}  // namespace weft::policies

// Elastic goodput on a pool of like devices.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition pollux() {
  Composition c;
  c.name = "pollux";
  c.summary =
      "gang sizes by learnt speedup over an equal share; blind to device types (elastic jobs)";
  c.source = "Pollux (OSDI'21) §4.2: p = -1";
  c.allocate = {"choose", {{"value", "pollux"}, {"round", "60"}}};
  c.place = {"displace-least", {}};
  return c;
}

}  // namespace weft::policies

// Elastic goodput on mixed device types.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition sia() {
  Composition c;
  c.name = "sia";
  c.summary = "device types and gang sizes by learnt goodput, few restarts (elastic jobs)";
  c.source = "Sia (SOSP'23) §3.4: p = -0.5, lambda = 1.1, rounds of 60 s";
  c.allocate = {"choose", {{"value", "sia"}, {"round", "60"}}};
  c.place = {"displace-least", {}};
  return c;
}

}  // namespace weft::policies

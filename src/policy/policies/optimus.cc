// Elastic jobs by remaining time.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition optimus() {
  Composition c;
  c.name = "optimus";
  c.summary = "gang sizes for the smallest sum of believed remaining times (elastic jobs)";
  c.source = "Optimus (EuroSys'18) §4.1";
  c.allocate = {"choose", {{"value", "optimus"}, {"round", "600"}}};
  c.place = {"displace-least", {}};
  return c;
}

}  // namespace weft::policies

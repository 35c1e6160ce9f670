// Deadlines kept with the least energy, within a limit on power if one is given.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition min_energy() {
  Composition c;
  c.name = "min-energy";
  c.summary = "sizes and power caps that take least energy and still keep promised deadlines";
  c.source = "Zeus (NSDI'23): cost of energy and time under a power limit; bookings as in edf";
  c.allocate = {"reserve", {{"power", "saving"}}};
  return c;
}

}  // namespace weft::policies

// Dominant resource fairness between tenants.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition drf() {
  Composition c;
  c.name = "drf";
  c.summary = "the tenant with the smallest dominant share of devices, cpu and memory is next";
  c.source = "Ghodsi et al., Dominant resource fairness (NSDI'11) §4, algorithm 1";
  c.allocate = {"fill", {}};
  return c;
}

}  // namespace weft::policies

// Spot mix: revocable nodes while the deadline allows, on-demand nodes when it does not.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition spot_mix() {
  Composition c;
  c.name = "spot-mix";
  c.summary = "spot nodes while ahead of uniform progress to the deadline, else on-demand nodes";
  c.source = "Can't Be Late (NSDI'24) §4, uniform progress";
  c.allocate = {"spot-mix", {}};
  return c;
}

}  // namespace weft::policies

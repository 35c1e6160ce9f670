// Elastic jobs, short or efficient ones first.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition afs() {
  Composition c;
  c.name = "afs";
  c.summary = "the next device to the shorter job unless the longer gains more (elastic jobs)";
  c.source = "AFS (NSDI'21) §4: apathetic future share";
  c.allocate = {"choose", {{"value", "afs"}, {"round", "60"}}};
  c.place = {"displace-least", {}};
  return c;
}

}  // namespace weft::policies

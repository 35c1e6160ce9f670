// Shortest job first, without preemption.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition sjf() {
  Composition c;
  c.name = "sjf";
  c.summary = "shortest believed duration first; running jobs are left alone";
  c.source = "Conway, Maxwell, Miller, Theory of Scheduling, 1967, ch. 8";
  c.key = {"remaining", {{"whole", "true"}}};
  return c;
}

}  // namespace weft::policies

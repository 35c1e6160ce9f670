// Shortest remaining time first, preempting.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition srtf() {
  Composition c;
  c.name = "srtf";
  c.summary = "shortest believed remaining time first; longer running jobs are preempted";
  c.source = "Schrage, A proof of the optimality of the SRPT discipline, Oper. Res. 1968";
  c.key = {"remaining", {}};
  c.allocate.settings = {{"preempt", "true"}, {"backfill", "any"}};
  return c;
}

}  // namespace weft::policies

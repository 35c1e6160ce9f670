// First in, first out: the first job that does not fit blocks all behind it.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition fifo() {
  Composition c;
  c.name = "fifo";
  c.summary = "in order of submission; the first job that does not fit blocks the rest";
  c.source = "the rule of most batch systems without backfill";
  return c;
}

}  // namespace weft::policies

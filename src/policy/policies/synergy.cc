// Synergy: processors and memory by sensitivity in place of proportional shares.
#include "policy/policies/policies.h"

namespace weft::policies {

// Whoever runs no faster with more holds the least, whoever does gets it, and nobody runs slower
// than with the share that it asks for, which should be proportional to its devices.
Composition synergy() {
  Composition c;
  c.name = "synergy";
  c.summary = "fifo with passing; processors and memory go to the jobs that gain by them";
  c.source = "Synergy (OSDI'22): best-case demand first, then reversion to proportional shares";
  c.allocate.settings = {{"backfill", "any"}, {"tune", "true"}};
  return c;
}

}  // namespace weft::policies

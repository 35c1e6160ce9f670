// FIFO whose head holds a reservation; later jobs fill the time before it.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition backfill() {
  Composition c;
  c.name = "backfill";
  c.summary = "fifo, and later jobs may start if they do not delay the first waiting one";
  c.source = "Lifka, The ANL/IBM SP scheduling system, JSSPP 1995";
  c.allocate.settings = {{"backfill", "easy"}};
  return c;
}

}  // namespace weft::policies

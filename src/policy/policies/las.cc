// Least attained service by run time, in queues.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition las() {
  Composition c;
  c.name = "las";
  c.summary = "least run time so far first, in three queues; needs no estimate";
  c.source = "Tiresias (NSDI'19) §3.2 with one dimension, as its simulator's dlas";
  c.key = {"attained", {{"devices", "false"}}};
  c.allocate.settings = {{"preempt", "true"}, {"backfill", "any"}};
  c.place = {"best-fit", {{"scatter", "true"}}};
  return c;
}

}  // namespace weft::policies

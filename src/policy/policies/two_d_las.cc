// Two-dimensional least attained service: time times devices.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition two_d_las() {
  Composition c;
  c.name = "2d-las";
  c.summary = "least device time so far first, in three queues; needs no estimate (Tiresias)";
  c.source = "Tiresias (NSDI'19) §3.2: discretized 2D-LAS";
  c.key = {"attained", {}};
  c.allocate.settings = {{"preempt", "true"}, {"backfill", "any"}};
  c.place = {"best-fit", {{"scatter", "true"}}};
  return c;
}

}  // namespace weft::policies

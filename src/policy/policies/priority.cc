// Strict priorities with preemption.
#include "policy/policies/policies.h"

namespace weft::policies {

Composition priority() {
  Composition c;
  c.name = "priority";
  c.summary = "larger priority first, preempting smaller; fifo among equals";
  c.source = "the rule of Slurm's preempt/partition_prio and Kubernetes priority classes";
  c.key = {"priority", {}};
  c.allocate.settings = {{"preempt", "true"}};
  return c;
}

}  // namespace weft::policies

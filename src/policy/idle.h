// The rule above all rules: a cluster with work waiting must not stand still.
#pragma once

#include "policy/draft.h"

namespace weft {

// If nothing at all is placed, starts the oldest waiting jobs that fit, packed or scattered. For
// policies whose own rule has no place for some shapes of jobs or clusters (a job that may not use
// spot nodes among nodes that are spot, a fraction where whole devices are dealt in).
// A policy that asked to be woken waits on purpose and is left alone.
void start_something_if_idle(Draft& draft);

}  // namespace weft

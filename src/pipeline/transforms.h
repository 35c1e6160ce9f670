// Schedules made from schedules.
#pragma once

#include <string>

#include "pipeline/schedule.h"

namespace weft::pipeline {

// Puts a recomputation before each backward pass; `checkpoint_part` is what the forward pass keeps.
// Overlapped forward-backwards keep their activations. Recomputing takes the time that the forward
// pass takes.
// Requires: verify() is ok; checkpoint_part lies in 0 .. 1; nothing is recomputed yet.
Schedule with_recomputation(Schedule schedule, double checkpoint_part);

// Lists every transfer: a send behind the pass that makes the data and a receive ahead of the pass
// that needs it, so that both devices have the transfers of a link in the same order. Devices that
// need data out of the order in which it is made receive it ahead of time. With a codec, all sends
// carry its label.
// Requires: verify() is ok and transfers are not listed yet.
Schedule with_listed_transfers(const Schedule& schedule, const std::string& codec = "");

}  // namespace weft::pipeline

// What the generators share.
#pragma once

#include <string>

#include "pipeline/schedule.h"
#include "pipeline/schedules.h"

namespace weft::pipeline {

// Empty programs; chunk c on device c mod devices (stages in a row, laid round and round). One
// activation is what one micro-batch holds on a device's whole share.
Schedule empty_schedule(std::string name, const Request& request, int chunks_per_device = 1);

// Where the chunks turn round at the last and the first device: 0 1 2 3, 3 2 1 0, 0 1 2 3, …
std::vector<int> folded_route(int devices, int chunks);

void add(Schedule& schedule, int device, Kind kind, const Work& work, int version = 0);

// Adds the optimizer at the end of each list and the times of a unit (forward = backward-input =
// weight gradient = 1 on a device's whole share).
Schedule finished(Schedule schedule);

// Forwards ahead, then one backward and one forward in turn, then the rest of the backwards.
// `forward(i)` and `backward(i)` are called with i = 0 .. count-1.
template <typename Forward, typename Backward>
void one_forward_one_backward(int count, int ahead, Forward forward, Backward backward) {
  ahead = ahead < count ? ahead : count;
  for (int i = 0; i < ahead; ++i) forward(i);
  for (int i = ahead; i < count; ++i) {
    forward(i);
    backward(i - ahead);
  }
  for (int i = count - ahead; i < count; ++i) backward(i);
}

}  // namespace weft::pipeline

// What devices hold over time.
#pragma once

#include <vector>

#include "pipeline/index.h"
#include "pipeline/schedule.h"
#include "pipeline/solve.h"

namespace weft::pipeline {

// One change of what a device holds.
struct MemoryChange {
  double at = 0;
  double amount = 0;  // below 0: released
};

// The changes of every device. A device's own come in the order of its list; with guests (what
// other devices offload to it) they are sorted by time, releases first.
std::vector<std::vector<MemoryChange>> memory_changes(const Schedule& schedule, const Index& index,
                                                      const std::vector<std::vector<Span>>& spans);

// The most each device ever holds.
std::vector<double> peak_activations(const Schedule& schedule, const Index& index,
                                     const std::vector<std::vector<Span>>& spans);

}  // namespace weft::pipeline

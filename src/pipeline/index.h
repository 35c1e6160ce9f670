// Where each operation of a schedule stands: the shape of a schedule, proved.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "pipeline/schedule.h"

namespace weft::pipeline {

inline constexpr std::int32_t kNone = -1;

// Operations are numbered through all devices: the i-th of device d is first[d] + i.
struct Index {
  std::vector<std::int32_t> first;  // one more than there are devices
  std::vector<const Op*> ops;
  std::vector<std::int32_t> device;  // of each operation

  // By number of work; kNone where there is none.
  std::vector<std::int32_t> forward, backward, gradient, recompute, offload, reload;
  // By number of receive: its send, and the other way round (kNone for other operations).
  // Empty without listed transfers.
  std::vector<std::int32_t> mate;
  std::vector<std::vector<std::int32_t>> optimizers;  // of each device, in order
  // Devices that hold a chunk which this one holds too, on other routes.
  std::vector<std::vector<int>> sharers;
};

// Ensures: when it is ok, all numbers are in range and finite; every work has each pass once, on
// the device of its route; sends and receives pair up in order; on each device a work's forward
// pass, offload, reload, recomputation, backward pass and weight gradient stand in this order, and
// slices in theirs. The first fault found is named by device and operation.
// Cost: O(operations + works).
Result<Index> index_schedule(const Schedule& schedule);

}  // namespace weft::pipeline

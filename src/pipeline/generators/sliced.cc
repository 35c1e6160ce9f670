#include <algorithm>

#include "pipeline/builder.h"
#include "pipeline/generators.h"

namespace weft::pipeline {
namespace {

Schedule empty_sliced(const char* name, const Request& request) {
  Schedule s = empty_schedule(name, request);
  s.slices = request.slices;
  for (double& activation : s.activation) activation /= request.slices;
  return s;
}

// The i-th slice in forward order, and in backward order: the last slice of a micro-batch first.
Work forward_slice(const Schedule& s, int i, int d) { return {i / s.slices, d, i % s.slices}; }
Work backward_slice(const Schedule& s, int i, int d) {
  return {i / s.slices, d, s.slices - 1 - i % s.slices};
}

}  // namespace

Schedule terapipe(const Request& request) {
  Schedule s = empty_sliced("terapipe", request);
  const int count = s.micro_batches * s.slices;
  for (int d = 0; d < s.devices; ++d) {
    for (int i = 0; i < count; ++i) add(s, d, Kind::kForward, forward_slice(s, i, d));
    for (int i = 0; i < count; ++i) add(s, d, Kind::kBackward, backward_slice(s, i, d));
  }
  return finished(std::move(s));
}

// The first backward pass needs all slices of its micro-batch, so that many more go ahead.
Schedule seq1f1b(const Request& request) {
  Schedule s = empty_sliced("seq1f1b", request);
  for (int d = 0; d < s.devices; ++d) {
    one_forward_one_backward(
        s.micro_batches * s.slices, s.devices - 1 - d + s.slices - 1,
        [&](int i) { add(s, d, Kind::kForward, forward_slice(s, i, d)); },
        [&](int i) { add(s, d, Kind::kBackward, backward_slice(s, i, d)); });
  }
  return finished(std::move(s));
}

}  // namespace weft::pipeline

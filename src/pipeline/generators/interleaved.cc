#include <algorithm>

#include "pipeline/builder.h"
#include "pipeline/generators.h"

namespace weft::pipeline {

// Micro-batches go in groups of as many as there are devices; a group passes one chunk of the
// device after the other.
Schedule interleaved(const Request& request) {
  Schedule s = empty_schedule("interleaved", request, request.chunks);
  const int p = s.devices;
  const int v = request.chunks;
  const int count = s.micro_batches * v;
  const auto micro_batch = [&](int i) { return i / (p * v) * p + i % p; };
  const auto round = [&](int i) { return i / p % v; };
  for (int d = 0; d < p; ++d) {
    const int ahead = s.micro_batches == p ? count : 2 * (p - 1 - d) + (v - 1) * p;
    one_forward_one_backward(
        count, ahead,
        [&](int i) {
          add(s, d, Kind::kForward, {micro_batch(i), round(i) * p + d});
        },
        [&](int i) {
          add(s, d, Kind::kBackward, {micro_batch(i), (v - 1 - round(i)) * p + d});
        });
  }
  return finished(std::move(s));
}

}  // namespace weft::pipeline

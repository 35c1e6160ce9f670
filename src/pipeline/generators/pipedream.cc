#include <algorithm>

#include "pipeline/builder.h"
#include "pipeline/generators.h"

namespace weft::pipeline {
namespace {

// 1F1B without a flush: after every `window` backwards the device updates its weights. A forward
// pass of the k-th window uses what version_of(device, first micro-batch made so far, k) says.
template <typename VersionOf>
Schedule without_flush(const char* name, const Request& request, int window, VersionOf version_of) {
  Schedule s = empty_schedule(name, request);
  for (int d = 0; d < s.devices; ++d) {
    one_forward_one_backward(
        s.micro_batches, s.devices - 1 - d,
        [&](int m) {
          add(s, d, Kind::kForward, {m, d}, version_of(d, m));
        },
        [&](int m) {
          add(s, d, Kind::kBackward, {m, d}, version_of(d, m));
          if ((m + 1) % window == 0) add(s, d, Kind::kOptimizer, {}, (m + 1) / window);
        });
  }
  return s;
}

}  // namespace

// Every forward pass takes the newest weights of its device and keeps them for its backward pass.
Schedule pipedream(const Request& request) {
  const int ahead = request.stages - 1;
  Schedule s = without_flush("pipedream", request, 1,
                             [&](int d, int m) { return std::max(0, m - (ahead - d)); });
  s.staleness = std::min(ahead, request.micro_batches - 1);
  s.weight_versions = std::min(request.stages, request.micro_batches);
  return finished(std::move(s));
}

// All micro-batches of a window use the weights of two updates before the one they make.
Schedule pipedream_2bw(const Request& request) {
  const int window = request.window == 0 ? request.stages : request.window;
  Schedule s = without_flush("pipedream-2bw", request, window,
                             [&](int, int m) { return std::max(0, m / window - 1); });
  s.staleness = 1;
  s.weight_versions = 2;
  return finished(std::move(s));
}

}  // namespace weft::pipeline

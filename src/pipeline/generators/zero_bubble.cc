#include <algorithm>

#include "pipeline/builder.h"
#include "pipeline/generators.h"

namespace weft::pipeline {
namespace {

// 1F1B with the backward pass in two. A weight gradient is put off as long as there is memory for
// the next forward pass, and fills the gaps between the last backwards.
Schedule zero_bubble(const char* name, const Request& request, bool twice) {
  Schedule s = empty_schedule(name, request);
  const int p = s.devices;
  const int limit = twice ? 2 * p - 1 : p;
  for (int d = 0; d < p; ++d) {
    const int ahead = std::min(twice ? 2 * (p - d) - 1 : p - d, s.micro_batches);
    int forwards = 0, weights = 0;
    while (forwards < ahead) add(s, d, Kind::kForward, {forwards++, d});
    for (int m = 0; m < s.micro_batches; ++m) {
      add(s, d, Kind::kBackwardInput, {m, d});
      const bool full = forwards - weights >= limit;
      if (forwards == s.micro_batches || full) add(s, d, Kind::kWeightGradient, {weights++, d});
      if (forwards < s.micro_batches) add(s, d, Kind::kForward, {forwards++, d});
    }
    while (weights < s.micro_batches) add(s, d, Kind::kWeightGradient, {weights++, d});
  }
  return finished(std::move(s));
}

}  // namespace

Schedule zb_h1(const Request& request) { return zero_bubble("zb-h1", request, false); }
Schedule zb_h2(const Request& request) { return zero_bubble("zb-h2", request, true); }

}  // namespace weft::pipeline

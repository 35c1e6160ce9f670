#include "pipeline/builder.h"
#include "pipeline/generators.h"

namespace weft::pipeline {

Schedule one_f_one_b(const Request& request) {
  Schedule s = empty_schedule("1f1b", request);
  for (int d = 0; d < s.devices; ++d) {
    one_forward_one_backward(
        s.micro_batches, s.devices - 1 - d,
        [&](int m) {
          add(s, d, Kind::kForward, {m, d});
        },
        [&](int m) {
          add(s, d, Kind::kBackward, {m, d});
        });
  }
  return finished(std::move(s));
}

}  // namespace weft::pipeline

#include "pipeline/builder.h"
#include "pipeline/generators.h"

namespace weft::pipeline {

Schedule gpipe(const Request& request) {
  Schedule s = empty_schedule("gpipe", request);
  for (int d = 0; d < s.devices; ++d) {
    for (int m = 0; m < s.micro_batches; ++m) add(s, d, Kind::kForward, {m, d});
    for (int m = 0; m < s.micro_batches; ++m) add(s, d, Kind::kBackward, {m, d});
  }
  return finished(std::move(s));
}

}  // namespace weft::pipeline

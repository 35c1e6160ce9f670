#include "pipeline/builder.h"
#include "pipeline/generators.h"
#include "pipeline/slots.h"

namespace weft::pipeline {

// Even micro-batches go down, odd ones up.
Schedule chimera(const Request& request) {
  Schedule s = empty_schedule("chimera", request);
  s.routes.emplace_back(s.routes[0].rbegin(), s.routes[0].rend());
  for (int m = 0; m < s.micro_batches; ++m) s.route_of.push_back(m % 2);
  fill_slots(s, s.devices);
  return finished(std::move(s));
}

}  // namespace weft::pipeline

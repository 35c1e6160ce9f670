#include "pipeline/builder.h"
#include "pipeline/generators.h"
#include "pipeline/slots.h"

namespace weft::pipeline {

Schedule hanayo(const Request& request) {
  Schedule s = empty_schedule("hanayo", request, request.chunks);
  s.routes[0] = folded_route(s.devices, s.chunks);
  fill_slots(s, s.devices);
  return finished(std::move(s));
}

}  // namespace weft::pipeline

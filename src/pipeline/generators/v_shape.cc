#include "pipeline/v_shape.h"
#include "base/check.h"
#include "pipeline/builder.h"
#include "pipeline/costs.h"
#include "pipeline/generators.h"
#include "pipeline/weights.h"

namespace weft::pipeline {
namespace {

Schedule v_schedule(const char* name, const Request& request, const std::array<int, 4>& offset) {
  std::optional<VShape> shape = make_v_shape(request, offset);
  CHECK(shape.has_value());
  const Costs unit = even_costs(shape->passes, {});
  Schedule s = with_weight_gradients(std::move(shape->passes), unit, shape->room);
  s.name = name;
  return finished(std::move(s));
}

}  // namespace

Schedule zb_v(const Request& request) { return v_schedule("zb-v", request, {4, 2, 4, 2}); }
Schedule v_half(const Request& request) { return v_schedule("v-half", request, {2, 1, 2, 1}); }
Schedule v_min(const Request& request) { return v_schedule("v-min", request, {1, 1, 1, 1}); }

}  // namespace weft::pipeline

// Whatever the bytes are, reading them as a model, as machines or as measured runs gives something
// that can be predicted, or an error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "planner/evaluate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  using namespace weft::planner;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto model = parse_transformer({"model", text}); model.ok()) {
    CHECK(check(*model).ok());
    CHECK(parameters(*model) > 0);
  } else {
    CHECK(!model.error().what.empty());
  }
  if (const auto machines = parse_machines({"machines", text}); machines.ok()) {
    CHECK(machines->device_network_bytes_per_s() > 0);
  } else {
    CHECK(!machines.error().what.empty());
  }
  const auto runs = parse_runs({"runs", text});
  if (!runs.ok()) {
    CHECK(!runs.error().what.empty());
    return 0;
  }
  for (const Prediction& one : predict(*runs, MemoryTerms::kOwn)) {
    CHECK(std::isfinite(one.time.total()) && one.time.total() > 0);
    CHECK(std::isfinite(one.memory.total()) && one.memory.total() > 0);
  }
  return 0;
}

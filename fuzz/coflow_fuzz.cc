// Whatever the bytes are, reading them as a coflow trace gives a sound trace or an error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "fabric/coflow/coflow_generator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto spec = weft::parse_coflow_generator("gen:" + text);
  if (spec.ok()) CHECK(spec->ports >= 1 && spec->width <= spec->ports);
  const auto trace = weft::parse_coflow_trace("fuzz", text);
  if (!trace.ok()) {
    CHECK(!trace.error().what.empty());
    return 0;
  }
  CHECK(!trace->coflows.empty());
  weft::Seconds last = 0;
  for (const weft::Coflow& coflow : trace->coflows) {
    CHECK(coflow.arrival >= last);
    last = coflow.arrival;
    CHECK(coflow.bytes.size() == coflow.sources.size() * coflow.targets.size());
    CHECK(coflow.sources.back() < trace->ports && coflow.targets.back() < trace->ports);
    CHECK(std::isfinite(weft::isolated_time(coflow, 1)) && weft::isolated_time(coflow, 1) > 0);
  }
  return 0;
}

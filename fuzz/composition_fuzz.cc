// Whatever the bytes are, reading them as a policy gives an error or a policy that schedules: a
// small trace ends under it, or it is said why not.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "policy/composition.h"
#include "sim/engine.h"

namespace {

using namespace weft;

// A run of the small trace needs some hundreds of decisions even under rounds of one second.
class Limit : public Journal {
 public:
  void decision(Seconds) override { CHECK_MSG(++decisions_ < 50'000, "it decides for ever"); }

 private:
  long decisions_ = 0;
};

// Six jobs of two tenants, some with deadlines, one that uses half of a device.
Trace small_trace() {
  Trace trace;
  trace.tenants = {"a", "b"};
  for (std::uint32_t i = 0; i < 6; ++i) {
    auto submission = std::make_shared<Submission>();
    auto menu = std::make_shared<Menu>();
    Configuration& c = menu->configurations.emplace_back();
    c.devices = 1u << (i % 3);
    if (i == 3) c.milli = 500;
    submission->name = std::to_string(i);
    submission->submit = 2.0 * i;
    submission->tenant = static_cast<TenantId>(i % 2);
    if (i % 2 == 0) submission->deadline = 100 + i;
    submission->menu = std::move(menu);
    Truth truth;
    truth.work = 5 + 7.0 * i;
    trace.jobs.push_back({std::move(submission), std::move(truth)});
  }
  return trace;
}

void schedule(const Policy& policy) {
  static const Cluster cluster = *parse_cluster_shorthand("fast:1x4,slow:1x2");
  static const Trace trace = small_trace();
  Limit limit;
  SimRequest request;
  request.cluster = &cluster;
  request.trace = &trace;
  request.policy = &policy;
  request.journal = &limit;
  const Result<RunResult> result = simulate(request);
  CHECK(result.ok() || !result.error().what.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto composition = parse_composition(text, "fuzz");
  if (!composition.ok()) {
    CHECK(!composition.error().what.empty());
    return 0;
  }
  const auto policy = assemble(*composition);
  if (policy.ok()) {
    schedule(**policy);
  } else {
    CHECK(!policy.error().what.empty());
  }
  return 0;
}

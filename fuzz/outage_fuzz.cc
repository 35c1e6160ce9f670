// Whatever the bytes are, reading them as recorded outages gives sound outages or an error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "sim/outage_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const weft::Cluster cluster = *weft::parse_cluster_shorthand("a:3x8,b:2x1");
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto outages = weft::parse_outages(text, "fuzz", cluster);
  if (!outages.ok()) {
    CHECK(!outages.error().what.empty());
    return 0;
  }
  CHECK(std::is_sorted(outages->begin(), outages->end(),
                       [](const auto& a, const auto& b) { return a.at < b.at; }));
  for (const weft::Outage& outage : *outages) {
    CHECK(outage.node < cluster.nodes.size());
    CHECK(outage.at >= 0 && outage.at <= 1e12 && outage.duration >= 0 && outage.notice >= 0);
    CHECK(outage.device == weft::kNoDevice || cluster.node_of(outage.device) == outage.node);
  }
  return 0;
}

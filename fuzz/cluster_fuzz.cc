// Whatever the bytes are, reading them as a cluster gives a sound cluster or an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "model/cluster.h"
#include "model/cluster_yaml.h"
#include "model/readers/alibaba_reader.h"

namespace {

using weft::Cluster;

void check_sound(const weft::Result<Cluster>& result) {
  if (!result.ok()) {
    CHECK(!result.error().what.empty());
    return;
  }
  const Cluster& cluster = *result;
  CHECK(!cluster.nodes.empty() && cluster.device_count() <= weft::kMaxDevices);
  for (weft::NodeId id = 0; id < cluster.nodes.size(); ++id) {
    const weft::Node& node = cluster.nodes[id];
    CHECK(node.devices >= 1 && node.type < cluster.types.size());
    CHECK(cluster.node_of(node.first_device + node.devices - 1) == id);
    CHECK(cluster.price_per_hour(id, 0) >= 0);
    for (int level = 0; level < weft::kLevels; ++level) {
      const auto& names = cluster.domain_names[static_cast<size_t>(level)];
      CHECK(names.empty() || node.domain[level] < names.size());
    }
  }
}

// A legal cluster may have millions of nodes, which takes seconds and finds nothing.
bool names_large_numbers(const std::string& text) {
  size_t digits = 0;
  for (const char c : text) {
    const bool exponent = digits > 0 && (c == 'e' || c == 'E');
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 4 || exponent) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_sound(weft::parse_alibaba_nodes({"fuzz", text}));
  if (names_large_numbers(text)) return 0;
  check_sound(weft::parse_cluster_shorthand(text));
  check_sound(weft::parse_cluster_yaml({"fuzz", text}));
  return 0;
}

#include "model/cluster.h"

#include <algorithm>
#include <iterator>

namespace weft {

DeviceId Cluster::device_count(TypeId type) const {
  DeviceId count = 0;
  for (const Node& node : nodes) {
    if (type == kAnyType || node.type == type) count += node.devices;
  }
  return count;
}

double Cluster::price_per_hour(NodeId node, Seconds at) const {
  const std::vector<PriceStep>& series = prices[nodes[node].price];
  const auto after = std::upper_bound(series.begin(), series.end(), at,
                                      [](Seconds t, const PriceStep& step) { return t < step.at; });
  return after == series.begin() ? 0.0 : std::prev(after)->per_device_hour;
}

void Cluster::finish() {
  if (prices.empty()) prices.push_back({PriceStep{}});
  node_of_device_.clear();
  DeviceId next = 0;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    Node& node = nodes[id];
    CHECK(node.devices > 0 && node.devices <= kMaxDevicesPerNode);
    CHECK(node.type < types.size() && node.price < prices.size());
    node.first_device = next;
    node.domain[static_cast<int>(Level::kNode)] = id;
    next += node.devices;
    node_of_device_.insert(node_of_device_.end(), node.devices, id);
  }
}

}  // namespace weft

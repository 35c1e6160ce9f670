#include "sim/metrics.h"

#include <algorithm>

namespace weft {

Metrics::Metrics(const Cluster& cluster, bool record)
    : cluster_(cluster), record_(record), used_s_(cluster.types.size()) {
  for (TypeId type = 0; type < cluster.types.size(); ++type) {
    watts_ += cluster.device_count(type) * cluster.types[type].idle_watts;
  }
  peak_watts_ = watts_;
}

void Metrics::now(Seconds at, std::uint32_t active_jobs, std::uint32_t waiting, double busy,
                  double fragmented) {
  const Seconds passed = at - last_;
  active_s_ += passed * active_;
  busy_s_ += passed * busy_;
  fragmented_s_ += passed * fragmented_;
  last_ = at;
  active_ = active_jobs;
  if (record_ && (samples_.empty() || busy != busy_ || waiting != samples_.back().waiting)) {
    if (!samples_.empty() && samples_.back().at == at) samples_.pop_back();
    samples_.push_back({at, busy, waiting});
  }
  busy_ = busy;
  fragmented_ = fragmented;
  peak_watts_ = std::max(peak_watts_, watts_);
}

void Metrics::used(NodeId id, double devices, Seconds from, Seconds to, double watts) {
  const Node& node = cluster_.nodes[id];
  used_s_[node.type] += devices * (to - from);
  busy_joules_ += watts * devices * (to - from);
  const std::vector<PriceStep>& prices = cluster_.prices[node.price];
  for (size_t i = 0; i < prices.size(); ++i) {
    if (prices[i].per_device_hour == 0) continue;
    const Seconds begin = std::max(from, prices[i].at);
    const Seconds end = i + 1 < prices.size() ? std::min(to, prices[i + 1].at) : to;
    if (end > begin) cost_ += devices * (end - begin) / kHour * prices[i].per_device_hour;
  }
}

void Metrics::finish(Seconds makespan, RunResult& result) const {
  const double devices = cluster_.device_count();
  if (makespan > 0) {
    result.utilization = busy_s_ / (devices * makespan);
    result.fragmentation = fragmented_s_ / (devices * makespan);
  }
  result.gpu_hours = busy_s_ / kHour;
  result.cost = cost_;
  double joules = busy_joules_;
  for (TypeId type = 0; type < cluster_.types.size(); ++type) {
    const double idle_s = cluster_.device_count(type) * makespan - used_s_[type];
    joules += std::max(0.0, idle_s) * cluster_.types[type].idle_watts;
  }
  result.energy_kwh = joules / 3.6e6;
  result.peak_kw = peak_watts_ / 1e3;
  result.samples = samples_;
}

}  // namespace weft

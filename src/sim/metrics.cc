#include "sim/metrics.h"

#include <algorithm>

namespace weft {

double busy_watts(const DeviceType& type, double watts_cap) {
  if (type.power.empty()) return 0;
  const double most = type.power.back().watts;
  return watts_cap > 0 ? std::min(watts_cap, most) : most;
}

double capped_speed(const DeviceType& type, double watts_cap) {
  if (type.power.empty() || watts_cap <= 0 || watts_cap >= type.power.back().watts) return 1;
  // Linear between the points of the curve; below the first, proportional to power.
  const PowerPoint* below = nullptr;
  for (const PowerPoint& point : type.power) {
    if (point.watts >= watts_cap) {
      if (below == nullptr) return point.speed * watts_cap / point.watts;
      const double part = (watts_cap - below->watts) / (point.watts - below->watts);
      return below->speed + part * (point.speed - below->speed);
    }
    below = &point;
  }
  return 1;
}

Metrics::Metrics(const Cluster& cluster, bool record)
    : cluster_(cluster), record_(record), used_s_(cluster.types.size()) {}

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
  result.samples = samples_;
}

}  // namespace weft

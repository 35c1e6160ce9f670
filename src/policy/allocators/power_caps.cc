#include "policy/allocators/power_caps.h"

#include <algorithm>
#include <cmath>

#include "model/power.h"

namespace weft {
namespace {

double idle_draw(const Cluster& cluster) {
  double watts = 0;
  for (TypeId type = 0; type < cluster.types.size(); ++type) {
    watts += cluster.device_count(type) * cluster.types[type].idle_watts;
  }
  return watts;
}

}  // namespace

PowerCaps::PowerCaps(const State& state, const PowerOptions& options)
    : state_(state), options_(options) {
  const Cluster& cluster = state.cluster();
  // Every device gets the same part of the way from idle to its largest draw.
  double range = 0;
  for (TypeId type = 0; type < cluster.types.size(); ++type) {
    const double most = busy_watts(cluster.types[type], 0);
    if (most > 0) range += cluster.device_count(type) * (most - cluster.types[type].idle_watts);
  }
  const bool limited = options.limit_w > 0 && range > 0;
  const double part =
      limited ? std::clamp((options.limit_w - idle_draw(cluster)) / range, 0.0, 1.0) : 1;
  bool all_fed = true;
  for (const DeviceType& type : cluster.types) {
    const double most = busy_watts(type, 0);
    double watts = part < 1 ? std::floor(type.idle_watts + part * (most - type.idle_watts)) : most;
    if (most > 0 && watts < type.power.front().watts) {
      watts = type.power.front().watts;
      all_fed = false;
    }
    sure_watts_.push_back(watts);
    sure_speed_.push_back(capped_speed(type, watts));
  }
  if (!all_fed) darken();
}

void PowerCaps::darken() {
  const Cluster& cluster = state_.cluster();
  for (size_t t = 0; t < cluster.types.size(); ++t) {
    if (cluster.types[t].power.empty()) continue;
    sure_watts_[t] = cluster.types[t].power.front().watts;
    sure_speed_[t] = cluster.types[t].power.front().speed;
  }
  double draw = idle_draw(cluster);
  for (const Node& node : cluster.nodes) {
    const DeviceType& type = cluster.types[node.type];
    const double more =
        type.power.empty() ? 0 : node.devices * (sure_watts_[node.type] - type.idle_watts);
    if (draw + more <= options_.limit_w) {
      draw += more;
      continue;
    }
    for (DeviceId d = 0; d < node.devices; ++d) dark_.devices.push_back({node.first_device + d});
  }
}

// Of a second's uncapped work of one device; `asked`: devices that were asked for, for each held.
double PowerCaps::cost(const DeviceType& type, double watts, bool promised, double asked) const {
  const double weight = promised ? 1 : options_.energy_weight;
  const double time_watts = busy_watts(type, 0) * asked;
  return (weight * watts + (1 - weight) * time_watts) / capped_speed(type, watts);
}

std::vector<std::uint16_t> PowerCaps::shapes(const JobState& job, bool promised) const {
  const std::vector<Configuration>& menu = job.spec->menu->configurations;
  const std::vector<DeviceType>& types = state_.cluster().types;
  const double asked = menu[0].devices;
  std::vector<std::pair<double, std::uint16_t>> ranked;
  for (std::uint16_t i = 0; i < menu.size(); ++i) {
    const Configuration& c = menu[i];
    const bool as_asked =
        c.devices == menu[0].devices && c.milli == menu[0].milli && c.batch == menu[0].batch;
    if (c.rate <= 0 || (!job.spec->elastic && !as_asked)) continue;
    double least = kNever;
    for (TypeId t = 0; t < types.size(); ++t) {
      if (c.type != kAnyType && c.type != t) continue;
      const double rate = c.rate * c.efficiency * (c.type == kAnyType ? types[t].speed : 1);
      // Without a curve energy is unknown, and time decides.
      double best = types[t].power.empty() ? 1 : kNever;
      for (const PowerPoint& point : types[t].power) {
        best = std::min(best, cost(types[t], point.watts, promised, asked / c.devices));
      }
      least = std::min(least, best * c.devices / rate);
    }
    ranked.emplace_back(least, i);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::uint16_t> out;
  for (const auto& [unused, i] : ranked) out.push_back(i);
  return out;
}

double PowerCaps::wanted_watts(const DeviceType& type, const Holder& holder, double sure) const {
  std::vector<double> choices = {std::floor(sure)};
  for (const PowerPoint& point : type.power) choices.push_back(std::floor(point.watts));
  choices.back() = type.power.back().watts;
  const JobState& job = state_.job(holder.job);
  const double asked = static_cast<double>(job.spec->requested().devices) * job.held.replicas /
                       static_cast<double>(job.held.devices.size());
  double best = type.power.back().watts, least = kNever;
  for (double watts : choices) {
    const Seconds end = state_.now + holder.left / capped_speed(type, watts);
    const bool late = holder.latest_end < kNever && !(end <= holder.latest_end);
    const double price = cost(type, watts, holder.promised, asked);
    if (late || price >= least) continue;
    least = price;
    best = watts;
  }
  return best;
}

void PowerCaps::set(Draft& draft, const std::vector<Holder>& holders) const {
  const Cluster& cluster = state_.cluster();
  struct Cap {
    const Holder* holder;
    const DeviceType* type;
    double watts, wanted;
  };
  std::vector<Cap> caps;
  double draw = idle_draw(cluster);
  for (const Holder& holder : holders) {
    const Allocation& held = state_.job(holder.job).held;
    const TypeId t = cluster.type_of(held.devices.front().device);
    const DeviceType& type = cluster.types[t];
    if (type.power.empty()) continue;
    const double wanted = wanted_watts(type, holder, sure_watts_[t]);
    caps.push_back({&holder, &type, std::min(wanted, sure_watts_[t]), wanted});
    draw += held.device_count() * (caps.back().watts - type.idle_watts);
  }
  for (Cap& cap : caps) {
    const double more = state_.job(cap.holder->job).held.device_count() * (cap.wanted - cap.watts);
    if (options_.limit_w > 0 && draw + more > options_.limit_w) continue;
    draw += more;
    cap.watts = cap.wanted;
  }
  for (const bool lower : {true, false}) {
    for (const Cap& cap : caps) {
      Allocation held = state_.job(cap.holder->job).held;
      const double most = cap.type->power.back().watts;
      const auto watts = static_cast<std::uint16_t>(cap.watts < most ? cap.watts : 0);
      const double before = held.watts_cap > 0 ? held.watts_cap : most;
      if (watts == held.watts_cap || (cap.watts < before) != lower) continue;
      held.watts_cap = watts;
      draft.move(cap.holder->job, std::move(held));
    }
  }
}

}  // namespace weft

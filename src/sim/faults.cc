#include "sim/faults.h"

#include <algorithm>

namespace weft {

Faults::Faults(const Cluster& cluster, const FaultOptions& options, std::uint64_t seed,
               EventQueue& queue)
    : cluster_(cluster),
      options_(options),
      random_(seed),
      restarts_(seed + 0x9e3779b9),
      queue_(queue) {}

void Faults::plan_restart(Seconds now) {
  if (options_.controller_mtbf <= 0) return;
  queue_.push(now + restarts_.exponential(options_.controller_mtbf), Happening::kRestart, 0);
}

void Faults::plan() {
  plan_restart(0);
  slots_ = options_.recorded;
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) schedule(slot, 0);
  for (NodeId node = 0; node < cluster_.nodes.size(); ++node) add_by_rate(node, kNoDevice);
  if (options_.device_mtbf <= 0) return;
  for (DeviceId device = 0; device < cluster_.device_count(); ++device) {
    add_by_rate(cluster_.node_of(device), device);
  }
}

bool Faults::revoked(const Outage& outage) const {
  return outage.device == kNoDevice && options_.spot_mtbf > 0 &&
         cluster_.nodes[outage.node].node_class == NodeClass::kSpot;
}

void Faults::add_by_rate(NodeId node, DeviceId device) {
  Outage outage;
  outage.node = node;
  outage.device = device;
  if (device == kNoDevice && options_.node_mtbf <= 0 && !revoked(outage)) return;
  slots_.push_back(outage);
  draw(static_cast<std::uint32_t>(slots_.size() - 1), 0);
}

void Faults::draw(std::uint32_t slot, Seconds now) {
  Outage& outage = slots_[slot];
  const bool spot = revoked(outage);
  const Seconds mean = outage.device != kNoDevice ? options_.device_mtbf
                       : spot                     ? options_.spot_mtbf
                                                  : options_.node_mtbf;
  outage.at = now + random_.exponential(mean);
  outage.duration = random_.exponential(spot ? options_.spot_gone_mean : options_.repair_mean);
  outage.notice = spot ? options_.spot_notice : 0;
  schedule(slot, now);
}

void Faults::schedule(std::uint32_t slot, Seconds now) {
  Outage& outage = slots_[slot];
  const Seconds notice_at = std::max(now, outage.at - outage.notice);
  if (notice_at < outage.at) {
    queue_.push(notice_at, Happening::kOutageNotice, slot);
  } else {
    outage.notice = 0;
  }
  queue_.push(outage.at, Happening::kOutageBegins, slot);
  queue_.push(outage.at + outage.duration, Happening::kOutageEnds, slot);
}

void Faults::begun(std::uint32_t slot) {
  if (slots_[slot].notice == 0) ++kept_away_[where(slot)];
}

bool Faults::over(std::uint32_t slot, Seconds now) {
  const auto outages = kept_away_.find(where(slot));
  const bool back = --outages->second == 0;
  if (back) kept_away_.erase(outages);
  if (slot >= options_.recorded.size()) draw(slot, now);
  return back;
}

}  // namespace weft

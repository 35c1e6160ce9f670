// When nodes and devices go out of service, and when they come back.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "model/cluster.h"
#include "sim/event_queue.h"
#include "sim/options.h"

namespace weft {

// Schedules recorded outages and those drawn from rates, by their slots. Outages of one node or
// device may overlap: it is announced as going with the first and as back with the last.
// Requires: cluster, options and queue outlive this.
class Faults {
 public:
  Faults(const Cluster& cluster, const FaultOptions& options, std::uint64_t seed,
         EventQueue& queue);

  void plan();
  // Draws when the controller restarts next, if it does.
  void plan_restart(Seconds now);
  const Outage& outage(std::uint32_t slot) const { return slots_[slot]; }

  // The outage of the slot is announced ahead, or begins.
  void noticed(std::uint32_t slot) { ++kept_away_[where(slot)]; }
  void begun(std::uint32_t slot);
  // It is over. True if nothing else keeps the node or device away, announced or begun. Draws the
  // next failure of a slot that goes by a rate.
  bool over(std::uint32_t slot, Seconds now);

 private:
  std::pair<NodeId, DeviceId> where(std::uint32_t slot) const {
    return {slots_[slot].node, slots_[slot].device};
  }
  void add_by_rate(NodeId node, DeviceId device);
  void draw(std::uint32_t slot, Seconds now);
  void schedule(std::uint32_t slot, Seconds now);
  bool revoked(const Outage& outage) const;

  const Cluster& cluster_;
  const FaultOptions& options_;
  Random random_, restarts_;
  EventQueue& queue_;
  std::vector<Outage> slots_;  // recorded ones, then one for each thing that fails by a rate
  std::map<std::pair<NodeId, DeviceId>, std::uint32_t> kept_away_;  // by how many outages
};

}  // namespace weft

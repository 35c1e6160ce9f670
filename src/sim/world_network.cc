// Jobs that span nodes share the network.
#include <algorithm>

#include "sim/world.h"

namespace weft {

void World::join_network(JobId id, const Allocation& allocation, Seconds now) {
  std::vector<NodeId> nodes;
  for (const DeviceShare& share : allocation.devices) {
    const NodeId node = cluster_.node_of(share.device);
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  }
  if (nodes.size() > 1) records_[id].spanned = true;
  const Menu& menu = *jobs_[id].trace->submission->menu;
  network_->set(id, menu.configurations[allocation.configuration], nodes, now);
}

void World::rerate_network(Seconds now) {
  for (JobId id : network_->settle(now)) {
    if (network_->slowdown(id) > 1) records_[id].contended = true;
    if (jobs_[id].run == nullptr || true_rate(id) == jobs_[id].run->rate) continue;
    settle(jobs_[id], now);
    run_on(id, now);
    report_rate(id, now);
  }
}

void World::sum_up_network(RunResult& out) const {
  if (network_ == nullptr) return;
  out.networked = true;
  for (const JobRecord& record : out.records) {
    out.spanning_jobs += record.spanned;
    out.contended_jobs += record.contended;
  }
  const Topology& topology = network_->topology();
  double used = 0, could = 0;
  for (LinkId link = 0; link < topology.links.size(); ++link) {
    const DirectedLink& l = topology.links[link];
    if (l.from < topology.endpoints || l.to < topology.endpoints) continue;
    const double most = l.bytes_per_s * out.makespan_s;
    if (most <= 0) continue;
    used += network_->carried(link);
    could += most;
    out.busiest_link_use = std::max(out.busiest_link_use, network_->carried(link) / most);
  }
  if (could > 0) out.mean_link_use = used / could;
}

}  // namespace weft

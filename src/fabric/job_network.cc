#include "fabric/job_network.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "flow/path_choice.h"

namespace weft {
namespace {

std::vector<double> speeds(const Topology& topology) {
  std::vector<double> speed;
  for (const DirectedLink& link : topology.links) speed.push_back(link.bytes_per_s);
  return speed;
}

}  // namespace

NetworkDemand demand_of(const Configuration& c, std::size_t nodes) {
  NetworkDemand demand;
  if (nodes < 2) return demand;
  const double n = static_cast<double>(nodes);
  double part = 0;
  switch (c.traffic.pattern) {
    case Traffic::Pattern::kNone:
      break;
    case Traffic::Pattern::kAllReduce:
    case Traffic::Pattern::kParameterServer:
      part = 2 * (n - 1) / n;
      break;
    case Traffic::Pattern::kAllToAll:
      part = (n - 1) / n;
      break;
    case Traffic::Pattern::kPipeline:
      part = 1;
      break;
  }
  demand.bytes = part * static_cast<double>(c.traffic.bytes_per_step);
  demand.before = c.traffic.phase * c.seconds_per_step;
  demand.beside = (1 - c.traffic.phase) * c.seconds_per_step;
  return demand;
}

void adopt_leaves(const Topology& topology, Cluster& cluster) {
  constexpr auto kLeaf = static_cast<std::size_t>(Level::kLeaf);
  if (!cluster.domain_names[kLeaf].empty()) return;
  std::map<VertexId, std::uint32_t> leaves;
  for (const DirectedLink& link : topology.links) {
    if (link.from >= cluster.nodes.size() || link.to < topology.endpoints) continue;
    const auto leaf = static_cast<std::uint32_t>(leaves.size());
    cluster.nodes[link.from].domain[kLeaf] = leaves.try_emplace(link.to, leaf).first->second;
  }
  for (const auto& [vertex, unused] : leaves) {
    cluster.domain_names[kLeaf].push_back(topology.names.of(vertex));
  }
}

JobNetwork::JobNetwork(const Topology& topology, BandwidthSharing sharing)
    : topology_(topology),
      sharing_(sharing),
      solver_(speeds(topology)),
      carried_(topology.links.size()) {}

// Paths by hash of job and flow, as switches do it.
void JobNetwork::find_links(JobId job, std::span<const NodeId> nodes, std::vector<LinkId>& links,
                            double& own_rate) const {
  links.clear();
  own_rate = kNever;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId from = nodes[i], to = nodes[(i + 1) % nodes.size()];
    CHECK(from < topology_.endpoints && to < topology_.endpoints && from != to);
    const std::uint32_t count = topology_.paths->count(from, to);
    CHECK(count > 0);
    const std::size_t first = links.size();
    topology_.paths->path(from, to, choose_ecmp({from, to, job}, count), links);
    own_rate = std::min({own_rate, topology_.links[links[first]].bytes_per_s,
                         topology_.links[links.back()].bytes_per_s});
  }
}

StreamSpec JobNetwork::spec_of(const Member& member) const {
  StreamSpec spec{member.links, member.rank, member.weight};
  if (sharing_ == BandwidthSharing::kGuarantees) spec.cap = member.limit;
  if (member.demand.beside > 0) {
    spec.cap = std::min(spec.cap, member.demand.bytes / member.demand.beside);
  }
  return spec;
}

// Seconds of one step at `rate` bytes per second.
Seconds JobNetwork::step_at(const NetworkDemand& d, double rate) {
  const bool hidden = d.bytes <= rate * d.beside * (1 + 1e-12);
  return d.before + (hidden ? d.beside : rate > 0 ? d.bytes / rate : kNever);
}

double JobNetwork::slowdown_at(const Member& member, double rate) {
  const Seconds own = step_at(member.demand, member.own_rate);
  return own > 0 ? std::max(1.0, step_at(member.demand, rate) / own) : 1.0;
}

void JobNetwork::account(Member& member, Seconds now) {
  if (member.active && now > member.since && member.rate > 0) {
    const double steps = (now - member.since) / step_at(member.demand, member.rate);
    for (LinkId link : member.links) carried_[link] += steps * member.demand.bytes;
  }
  member.since = now;
}

void JobNetwork::set(JobId job, const Configuration& configuration, std::span<const NodeId> nodes,
                     Seconds now) {
  if (job >= members_.size()) {
    if (nodes.size() < 2) return;
    members_.resize(std::max<std::size_t>(job + std::size_t{1}, 2 * members_.size()));
  }
  Member& member = members_[job];
  account(member, now);
  if (member.active) solver_.remove(member.stream);
  members_changed_ |= member.active;
  member.active = false;
  member.demand = demand_of(configuration, nodes.size());
  if (!member.demand.any()) {
    if (member.slowdown != 1) touched_.push_back(job);
    member.links = {};
    member.rate = 0;
    return;
  }
  find_links(job, nodes, member.links, member.own_rate);
  member.active = true;
  member.devices = configuration.devices;
  const double on_node = member.devices / static_cast<double>(nodes.size());
  member.guarantee = configuration.network_guarantee * on_node;
  member.limit = kNever;
  if (configuration.network_limit > 0) {
    member.limit = std::max(configuration.network_limit * on_node, member.guarantee);
  }
  member.rank = 0;
  member.weight = 1;
  members_changed_ = true;
  add_stream(job);
}

void JobNetwork::add_stream(JobId job) {
  Member& member = members_[job];
  member.stream = solver_.add(spec_of(member));
  if (member.stream >= job_of_stream_.size()) {
    job_of_stream_.resize(member.stream + std::size_t{1}, kNoJob);
  }
  job_of_stream_[member.stream] = job;
}

const std::vector<JobId>& JobNetwork::settle(Seconds now) {
  if (members_changed_ && sharing_ != BandwidthSharing::kFair) classify();
  members_changed_ = false;
  for (StreamId stream : solver_.settle()) touched_.push_back(job_of_stream_[stream]);
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  changed_.clear();
  for (JobId job : touched_) {
    Member& member = members_[job];
    account(member, now);
    member.rate = member.active ? solver_.rate(member.stream) : 0;
    const double slowdown = member.active ? slowdown_at(member, member.rate) : 1;
    if (slowdown != member.slowdown) changed_.push_back(job);
    member.slowdown = slowdown;
  }
  touched_.clear();
  return changed_;
}

double JobNetwork::slowdown(JobId job) const {
  return job < members_.size() ? members_[job].slowdown : 1;
}

double JobNetwork::probe(JobId job, const Configuration& configuration,
                         std::span<const NodeId> nodes) const {
  JobNetwork trial = *this;
  trial.set(job, configuration, nodes, 0);
  trial.settle(0);
  return trial.slowdown(job);
}

}  // namespace weft

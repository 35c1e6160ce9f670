// What jobs that span nodes do to each other on the network.
#pragma once

#include <span>
#include <vector>

#include "fabric/bandwidth_sharing.h"
#include "fabric/max_min.h"
#include "model/workload.h"

namespace weft {

// What one configuration sends while it runs on `nodes` nodes.
struct NetworkDemand {
  double bytes = 0;    // by each node to its neighbour, per step
  Seconds before = 0;  // of the step, before the first byte can be sent
  Seconds beside = 0;  // of the step, in which computation can hide the sending
  bool any() const { return bytes > 0; }
};

// Requires: nodes >= 1. All-reduce and parameter servers move 2(n-1)/n, all-to-all (n-1)/n of the
// bytes of a step out of each node; pipelines hand all of it to the next node.
NetworkDemand demand_of(const Configuration& configuration, std::size_t nodes);

// Gives the cluster the leaves of the network under it, if it names none of its own: nodes whose
// endpoints hang on the same switch share a leaf. Requires: endpoint i is node i.
void adopt_leaves(const Topology& topology, Cluster& cluster);

// The model. The nodes of a job form a ring in ascending order, and each sends `bytes` per step to
// the next, evenly over the part of the step that may hide it, no faster than it can hide: jobs
// that can hide their traffic take no more than that needs. All flows of a job keep step, so they
// are one bundle that shares every link it crosses with the other jobs by max-min. A step takes
// before + max(beside, bytes / rate), and a job is slowed by the factor by which that exceeds the
// same with its nodes' own links to itself: alone on links that are not oversubscribed it is 1.
class JobNetwork {
 public:
  // `topology`: endpoint i is node i of the cluster. Must outlive the network.
  explicit JobNetwork(const Topology& topology, BandwidthSharing sharing = BandwidthSharing::kFair);

  // Which nodes the job spans from now on, ascending, each once; fewer than two: no traffic.
  // Requires: time does not run backwards.
  void set(JobId job, const Configuration& configuration, std::span<const NodeId> nodes,
           Seconds now);
  void remove(JobId job, Seconds now) { set(job, {}, {}, now); }
  // Solves; lists the jobs whose slowdown changed.
  const std::vector<JobId>& settle(Seconds now);
  // At least 1.
  double slowdown(JobId job) const;
  // What the job's slowdown would be there, if it came in addition. The network is unchanged.
  // Cost: that of copying it.
  double probe(JobId job, const Configuration& configuration, std::span<const NodeId> nodes) const;

  // Bytes that crossed a link so far, of each job up to its last change of rate.
  double carried(LinkId link) const { return carried_[link]; }
  double load(LinkId link) const { return solver_.load(link); }
  const Topology& topology() const { return topology_; }

 private:
  struct Member {
    StreamId stream = 0;
    bool active = false;
    NetworkDemand demand;
    double guarantee = 0, limit = kNever;  // of each flow, bytes per second
    double devices = 0;
    std::uint32_t rank = 0;  // of its stream
    double weight = 1;
    double own_rate = 0;  // with its nodes' links to itself
    double rate = 0;
    double slowdown = 1;
    Seconds since = 0;
    std::vector<LinkId> links;
  };
  void find_links(JobId job, std::span<const NodeId> nodes, std::vector<LinkId>& links,
                  double& own_rate) const;
  static Seconds step_at(const NetworkDemand& demand, double rate);
  static double slowdown_at(const Member& member, double rate);
  void account(Member& member, Seconds now);
  void add_stream(JobId job);
  // The classes of all jobs, where they depend on who else is there (bandwidth_sharing.cc).
  void classify();
  std::vector<std::uint32_t> ranks_by_intensity(const std::vector<JobId>& jobs) const;
  StreamSpec spec_of(const Member& member) const;

  const Topology& topology_;
  BandwidthSharing sharing_;
  bool members_changed_ = false;
  MaxMin solver_;
  std::vector<Member> members_;       // by job
  std::vector<JobId> job_of_stream_;  // by stream
  std::vector<double> carried_;       // by link
  std::vector<JobId> touched_, changed_;
};

}  // namespace weft

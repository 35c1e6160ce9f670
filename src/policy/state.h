// What a policy may look at: beliefs about jobs, and who is meant to hold what.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "fabric/bandwidth_sharing.h"
#include "fabric/topology.h"
#include "model/allocation.h"
#include "model/goodput_report.h"
#include "model/pairs.h"
#include "model/workload.h"
#include "policy/ledger.h"

namespace weft {

enum class Phase : std::uint8_t {
  kWaiting,  // holds nothing
  kPlaced,   // holds `held`, whether its start is still pending or it runs
  kEnded,
  kHeld,  // known to the controller alone: no policy sees it
};

// What is believed about one job. True work is not among it.
struct JobState {
  std::shared_ptr<const Submission> spec;
  JobId id = kNoJob;
  Phase phase = Phase::kWaiting;
  bool running = false;  // observed, not only desired
  std::uint16_t restarts = 0;
  std::uint16_t setbacks = 0;  // refused starts and crashes in a row, without progress between
  Seconds submit = 0;
  Seconds held_back_until = 0;  // not to be started before (after a refusal or a crash)
  Estimate estimate;

  // Closed service intervals; the open one, if running, began at `running_since`.
  Seconds running_since = 0;
  double devices_running = 0;
  double closed_device_s = 0;
  double closed_run_s = 0;

  // Last report of the job: work done by then, and how fast it went.
  double reported_work = 0;
  Seconds reported_at = 0;
  double observed_rate = 0;
  // What an elastic job last told about other gangs; null: it tells nothing.
  std::shared_ptr<const GoodputReport> report;
  // Services: requests per second last seen.
  double load = 0;

  Allocation held;  // desired

  double attained_device_s(Seconds now) const {
    return closed_device_s + (running ? (now - running_since) * devices_running : 0);
  }
  Seconds attained_run_s(Seconds now) const {
    return closed_run_s + (running ? now - running_since : 0);
  }
  // Estimated seconds left on configuration 0; kNever when nothing is known.
  Seconds remaining_s(Seconds now) const;
  // Work believed done by `now`, from the last report and the observed rate.
  double believed_work(Seconds now) const {
    return reported_work + (running ? (now - reported_at) * observed_rate : 0);
  }
};

// Where runs failed, for guards. Revocations that were announced are no failures.
struct FailureLog {
  std::map<NodeId, Seconds> nodes;            // that have failed, or a device of theirs: when last
  std::map<JobId, std::vector<NodeId>> jobs;  // active jobs that crashed: on which nodes
  // Active jobs that whoever runs them wants elsewhere: from which nodes.
  std::map<JobId, std::vector<NodeId>> shunned;
};

// A node is for one tenant or nobody for a while.
struct Closure {
  std::uint32_t number = 0;
  NodeId node = kNoNode;
  Seconds from = 0, until = 0;
  bool for_tenant = false;
  TenantId tenant = 0;
};

struct State {
  explicit State(const Cluster& cluster) : ledger(cluster) {}

  Seconds now = 0;
  Ledger ledger;               // of desired holdings
  std::vector<JobState> jobs;  // by JobId
  std::vector<JobId> active;   // not ended, ascending; may hold ended ones until compacted
  std::uint32_t waiting = 0;   // jobs in kWaiting
  std::uint32_t placed = 0;    // jobs in kPlaced
  std::shared_ptr<const PairTable> pairs;  // may be null
  std::vector<double> ended_service_s;     // device-seconds that ended jobs got, in order of ending
  FailureLog failures;
  // The network between the nodes, endpoint i under node i; null: not known.
  std::shared_ptr<const Topology> network;
  BandwidthSharing bandwidth = BandwidthSharing::kFair;  // on it
  JobId watched = kNoJob;                                // the job whose waiting is to be explained

  std::vector<Closure> closures;  // that are not over, ascending by number

  const Cluster& cluster() const { return ledger.cluster(); }
  // Whether the job would be gone from the node before others than its tenant must be, as far as it
  // has told how long it takes. One that has not may be stopped then, or must not begin.
  bool may_begin_on(NodeId node, const JobState& job) const;
  const JobState& job(JobId id) const { return jobs[id]; }
};

// What differs from the previous call.
struct Change {
  std::vector<JobId> arrived;
  std::vector<JobId> ended;     // or held: those may arrive again
  std::vector<JobId> returned;  // back to waiting without the policy's doing: refused, crashed
  std::vector<JobId> loads;     // services whose load changed
  bool nodes = false;           // some node came or went
  bool woke = false;            // the wake time asked for has come

  void clear() {
    arrived.clear();
    ended.clear();
    returned.clear();
    loads.clear();
    nodes = woke = false;
  }
  bool empty() const {
    return arrived.empty() && ended.empty() && returned.empty() && loads.empty() && !nodes && !woke;
  }
};

}  // namespace weft

// What came of a run.
#pragma once

#include <string>
#include <vector>

#include "base/statistics.h"
#include "model/trace.h"

namespace weft {

// The life of one job as it really went.
struct JobRecord {
  Seconds submit = 0;
  Seconds first_start = kNever;
  Seconds end = kNever;
  double run_s = 0;        // on devices
  double lost_work_s = 0;  // run time whose work a crash undid
  float rho = 0;           // finish-time fairness; 0: not ended
  std::uint16_t restarts = 0;
  // Bits: there are millions of records.
  bool rejected : 1 = false;
  bool missed_deadline : 1 = false;
  bool spanned : 1 = false;    // some of its runs held devices of several nodes
  bool contended : 1 = false;  // others slowed it on the network
};

// One stay of one job on some devices of one node.
struct Span {
  JobId job = kNoJob;
  DeviceId device = 0;
  std::uint16_t devices = 1;  // consecutive
  std::uint16_t milli = kWhole;
  Seconds from = 0, to = 0;
};

// From when until when a node, or one device of it, was out of service.
struct Gap {
  NodeId node = kNoNode;
  DeviceId device = kNoDevice;
  Seconds from = 0, to = 0;
};

struct Sample {
  Seconds at = 0;
  double busy_devices = 0;
  std::uint32_t waiting = 0;
};

struct RunResult {
  std::string policy, cluster, place, estimates;
  bool uses_estimates = false;  // whether the policy looks at them; told by whoever chose it
  std::uint64_t seed = 1;
  long jobs = 0, unfinished = 0, rejected = 0, restarts = 0, deadline_misses = 0, with_deadline = 0;
  long events = 0, decisions = 0;
  Summary jct_s, queue_s, rho;
  Seconds makespan_s = 0;
  double utilization = 0;    // busy device time over device time until the last job ended
  double fragmentation = 0;  // share of device time that stayed idle while at least one job waited
  double gpu_hours = 0, cost = 0, energy_kwh = 0, lost_gpu_hours = 0;
  double peak_kw = 0;  // largest draw of all devices, idle ones included
  // With a network: jobs that ran on several nodes, those of them that others slowed, and the use
  // of the links between switches over the whole run, the mean and the busiest.
  bool networked = false;
  long spanning_jobs = 0, contended_jobs = 0;
  double mean_link_use = 0, busiest_link_use = 0;
  double served = 1;  // of the services' requests
  double decision_p50_s = 0, decision_p99_s = 0, decision_max_s = 0;
  double cpu_s = 0, parse_s = 0;
  std::int64_t peak_rss_bytes = 0;
  std::vector<JobRecord> records;  // by job, in order of submission
  std::vector<Span> timeline;      // if asked for
  std::vector<Sample> samples;     // if asked for
  std::vector<Gap> gaps;           // if asked for: outages that began, ascending by begin
};

// Adds up the state of the cluster over time.
class Metrics {
 public:
  explicit Metrics(const Cluster& cluster, bool record);

  void now(Seconds at, std::uint32_t active_jobs, std::uint32_t waiting, double busy,
           double fragmented);
  // Integral of active jobs until `at`; Themis' contention of a lifetime is a difference of two.
  double contention(Seconds at) const { return active_s_ + (at - last_) * active_; }
  // Devices of the node were used for this time at this draw each.
  void used(NodeId node, double devices, Seconds from, Seconds to, double watts);

  // From now on so much more, or less, is drawn than before.
  void draw(double watts_more) { watts_ += watts_more; }

  void finish(Seconds makespan, RunResult& result) const;

 private:
  const Cluster& cluster_;
  bool record_;
  Seconds last_ = 0;
  double active_ = 0, active_s_ = 0;
  double busy_ = 0, busy_s_ = 0, fragmented_ = 0, fragmented_s_ = 0;
  double cost_ = 0;
  double busy_joules_ = 0;
  double watts_ = 0, peak_watts_ = 0;
  std::vector<double> used_s_;  // device-seconds by type
  std::vector<Sample> samples_;
};

}  // namespace weft

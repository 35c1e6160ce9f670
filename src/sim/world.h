// The truth: how much work each job really is, how fast it really goes, and what it really holds.
// Executes commands as a node's agent would; knows nothing of policies.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "control/command.h"
#include "control/dispatch.h"
#include "control/event.h"
#include "fabric/job_network.h"
#include "model/trace.h"
#include "sim/elastic_agent.h"
#include "sim/event_queue.h"
#include "sim/metrics.h"
#include "sim/options.h"

namespace weft {

// What the world wants told to the controller.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void tell(const Event& event) = 0;
};

class World {
 public:
  // `pairs` and `network` may be null.
  World(const Cluster& cluster, const SimOptions& options, const PairTable* pairs,
        const Topology* network, EventQueue& queue, Metrics& metrics, Listener& listener);

  void reserve(size_t jobs);
  // Jobs are added in order of submission; the id is the controller's.
  void add(JobId id, const TraceJob& job, Seconds now);

  // Likewise a job that was there before: what a controller believes of it is taken for true.
  struct Adopted {
    bool over = false;
    double work_done = 0, load = 0;
  };
  void adopt(JobId id, const TraceJob& job, const Pursuit& pursuit, const Adopted& as, Seconds now);

  // Executes the command at `now`, or refuses it, and tells the outcome. A repeated command is
  // answered as it was the first time, an outdated one is dropped (see command.h). Aborts if a
  // device would be used twice: the controller must never ask for it.
  void execute(const Command& command, bool refuse, Seconds now);
  // A finish, or the end of a phase, that was scheduled comes due. Outdated ones are ignored.
  void finish_due(JobId id, std::uint32_t stamp, Seconds now);
  // A planned measurement of an elastic job comes due. Outdated ones are ignored.
  void measure_due(JobId id, std::uint32_t run, Seconds now);
  // The node, or the device of it, goes out of service: every job with a device there dies. False
  // if another outage had it out already. It is back after as many returns as failures.
  bool fail(NodeId node, DeviceId device, Seconds now);
  void restore(NodeId node, DeviceId device);
  // `number` counts the notices of the service's load from 1.
  void set_load(JobId id, double requests_per_s, std::uint32_t number, Seconds now);
  void end_service(JobId id, Seconds now);
  // The controller refused to run it (admission control).
  void reject(JobId id, Seconds now);

  double busy_devices() const { return static_cast<double>(busy_milli_) / kWhole; }
  std::uint32_t active() const { return active_; }
  std::uint32_t running() const { return running_; }
  std::vector<JobRecord>& records() { return records_; }
  std::vector<Span>& timeline() { return timeline_; }
  double requests() const { return requests_; }
  double served() const { return served_; }
  // Fills in what became of the network, if there is one.
  void sum_up_network(RunResult& out) const;

 private:
  // What is true of a job only while it runs. Apart from TrueJob, of which there are millions.
  struct Run {
    Allocation held;
    double rate = 0;        // work per second
    Seconds since = 0;      // progress is counted from here
    double until = 0;       // so much work is done when its finish is due
    Seconds stay_from = 0;  // on these devices, for records
    // Checkpoints are taken at whole intervals after the first progress.
    Seconds progress_from = 0;
    double work_before = 0;
    Seconds saved_at = 0;   // the last one
    double saved_work = 0;  // and the work done by then
  };
  struct TrueJob {
    const TraceJob* trace = nullptr;
    // Counted up from 0, so that no rounding of what is reported tells how much there is in all.
    double work_done = 0;
    std::uint32_t epoch = 0, number = 0, stamp = 0;
    bool over = false;
    Outcome answer = Outcome::kDone;  // to command `number`
    float load = 0;
    std::unique_ptr<Run> run;             // null: it does not run
    std::unique_ptr<ElasticAgent> agent;  // of jobs whose truth is a goodput
  };

  void start(JobId id, const Command& command, Seconds now);
  void stop(JobId id, Seconds now);
  void resize(JobId id, const Command& command, Seconds now);
  void occupy(JobId id, const Allocation& allocation, Seconds now);
  void vacate(JobId id, Seconds now);
  void close_stay(JobId id, Seconds now);
  // Watts above idle that this part of what the job holds draws.
  double draw_of(JobId id, const DeviceShare& share) const;
  // Counts progress so far and forgets the scheduled finish.
  void settle(TrueJob& job, Seconds now);
  // Ends the run, whatever the reason: what it did is counted and its devices are left.
  std::unique_ptr<Run> leave(JobId id, Seconds now);
  void crash(JobId id, NodeId where, Seconds now);
  bool out_of_service(DeviceId device) const {
    return nodes_out_[cluster_.node_of(device)] > 0 || devices_out_.contains(device);
  }
  // Sets the rate from what the job now holds and beside whom, and schedules its finish.
  void run_on(JobId id, Seconds now);
  // Tells how far the job is and how fast it goes.
  void report_rate(JobId id, Seconds now);
  // Sets when an elastic job begins to make progress and tells its agent what it holds.
  void start_elastic(JobId id, Seconds now);
  // The epoch of an elastic job, or the phase of a job that changes its speed, ended; false: it was
  // the last one.
  bool next_epoch(JobId id, Seconds now);
  bool next_phase(JobId id, Seconds now);
  void plan_measure(JobId id, Seconds at);
  void rerate_neighbours(JobId id, const Allocation& of, Seconds now);
  // world_network.cc: who sends what over the network, and jobs whose share of it changed.
  void join_network(JobId id, const Allocation& allocation, Seconds now);
  void rerate_network(Seconds now);
  double true_rate(JobId id) const;
  double interference(JobId id, const TrueJob& job) const;
  void end(JobId id, Seconds now);
  void serve(const TrueJob& job, Seconds now);
  void tell_outcome(const Command& command, Outcome outcome, double work_done, Seconds now);

  const Cluster& cluster_;
  const SimOptions& options_;
  const PairTable* pairs_;
  std::unique_ptr<JobNetwork> network_;
  EventQueue& queue_;
  Metrics& metrics_;
  Listener& listener_;
  std::vector<TrueJob> jobs_;
  std::vector<JobRecord> records_;
  std::vector<std::uint16_t> used_milli_;          // by device
  std::vector<JobId> owner_;                       // by device: who has it whole
  std::vector<std::uint16_t> nodes_out_;           // by node: outages under way
  std::map<DeviceId, std::uint16_t> devices_out_;  // outages of single devices under way
  std::map<DeviceId, std::vector<JobId>> shared_;  // devices with shares below whole
  std::vector<double> contention_at_submit_;
  std::vector<Span> timeline_;
  std::int64_t busy_milli_ = 0;
  std::uint32_t active_ = 0, running_ = 0;
  double requests_ = 0, served_ = 0;
};

}  // namespace weft

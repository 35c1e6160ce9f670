// The agent that travels with an elastic job (Pollux, OSDI 2021, section 4.1): it measures step
// times, fits models to them, tunes the batch size to what the job holds, and reports. It sees of
// the truth only what the job goes through.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "model/allocation.h"
#include "model/goodput_fit.h"
#include "model/goodput_report.h"
#include "model/workload.h"

namespace weft {

class ElasticAgent {
 public:
  // Seconds of running until a step time is known, and between one tuning of the batch and the
  // next.
  static constexpr Seconds kFirstMeasure = 10;
  static constexpr Seconds kTuneInterval = 60;

  // Requires: both outlive the agent; the goodput's types are the cluster's, by TypeId.
  ElasticAgent(const Goodput& goodput, const Cluster& cluster);

  // The job begins a run on these devices, having made `progress` useful steps so far.
  void begin(const Allocation& held, const Configuration& configuration, double progress);
  // Which run this is; a measurement of an earlier one is outdated.
  std::uint32_t run() const { return run_; }
  Seconds restart_s() const { return goodput_.restart_s; }

  // True useful steps per second; constant until the epoch ends or the batch is tuned.
  double rate() const;
  // Progress at which the epoch under way ends.
  double epoch_end() const { return goodput_.noise.end_of(epoch_); }
  bool in_last_epoch() const { return epoch_ + 1 >= goodput_.epochs; }

  // Both tune the batch size and return whether a measurement is to be planned, kTuneInterval
  // from now: the batch size changed and none is under way.
  // The epoch ended. Requires: !in_last_epoch().
  bool enter_next_epoch();
  // Enough steps were made with this batch size to know how long they take.
  bool measure();

  // Ensures: each has a larger serial than the one before.
  std::shared_ptr<const GoodputReport> report();

 private:
  struct Seen {
    std::vector<Observation> observations;
    std::set<std::tuple<int, int, int>> keys;  // nodes, replicas, local batch
    bool add(const Observation& observation);
  };

  bool tune();
  BatchChoice choose_batch() const;

  const Goodput& goodput_;
  const Cluster& cluster_;
  std::vector<Seen> seen_;  // by type
  Seen seen_anywhere_;
  GoodputReport report_;

  // The run under way.
  std::uint32_t run_ = 0;
  TypeId type_ = 0;
  std::vector<int> placement_;  // devices on each node, in order
  Gang gang_;
  std::uint32_t fixed_batch_ = 0;
  int epoch_ = 0;
  BatchChoice batch_;
  bool measuring_ = false;  // a measurement is planned
};

}  // namespace weft

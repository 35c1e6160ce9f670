// Allocate by share: solvers say which fraction of its time each job should spend on each device
// type, and rounds make it so (Gavel, OSDI 2020, sections 4 and 5).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "policy/place.h"
#include "policy/policy.h"
#include "policy/solve/share.h"

namespace weft {

struct TimeShareOptions {
  enum class Objective { kMaxMin, kFinishTime, kMakespan, kThroughput, kCost, kIsolated };
  enum class Pairs {
    kNone,    // every job has its devices to itself
    kSolved,  // the solver also gives time to pairs of jobs that were measured together
    kTrial,   // random pairs are tried and kept while both together gain
  };
  Objective objective = Objective::kMaxMin;
  Pairs pairs = Pairs::kNone;
  Bytes device_memory = 24 * kGiB;  // for pairs, of device types that do not state theirs
  bool aware = true;                // knows device types apart; else all run as the fastest does
  bool deadlines = false;           // kCost: throughput floors that meet the deadlines
  Seconds round = 360;
  // Shares are computed anew in the first round at least this long after the last time, if jobs
  // came or went; a new job takes part from then on.
  Seconds refresh = 1920;
};

// What is given time: a job, or two jobs of equally many devices that share all of them.
struct ShareUnit {
  JobId first = kNoJob;
  JobId second = kNoJob;  // above `first`; kNoJob: `first` is alone
  bool is_pair() const { return second != kNoJob; }
  bool holds(JobId job) const { return first == job || second == job; }
  auto operator<=>(const ShareUnit&) const = default;
};

struct TimeShareMemory : PolicyMemory {
  struct Row {
    ShareUnit unit;          // in which it ran in the round that ends
    TypeId type = kAnyType;  // held in the round that ends
    Seconds run_seen = 0;    // attained run time at the last round's start
    // Finish-time fairness: seconds of isolated running behind the job, and how to go on counting.
    double isolated_s = 0, isolated_rate = 0, remaining_seen = 0;
  };
  struct UnitRow {
    std::vector<double> fraction;    // by type; empty until shares are computed
    std::vector<double> received_s;  // since the last computation
    std::vector<double> owed_s;      // what earlier computations promised and rounds did not give
  };
  std::map<JobId, Row> rows;
  std::map<ShareUnit, UnitRow> units;  // every job alone, and the pairs that have time
  Seconds round_ends = kNever;         // kNever: no round is under way
  Seconds computed_at = 0;
  bool computed = false;  // at least once since the cluster was last empty
  bool stale = true;      // jobs came or went since
  Random order{5};        // in which types are served when all look alike
  // Pairs::kTrial: who is tried or kept beside whom, which pairs lost, and the dice.
  std::map<JobId, JobId> partner;
  std::set<ShareUnit> failed;
  Random trials{6};
};

class TimeSharePolicy : public Policy {
 public:
  TimeSharePolicy(std::string name, TimeShareOptions options, PackedPlace place)
      : name_(std::move(name)), options_(options), place_(place) {}
  void decide(Draft& draft, const Change& change, PolicyMemory& memory) const override;
  std::unique_ptr<PolicyMemory> new_memory() const override {
    return std::make_unique<TimeShareMemory>();
  }
  const std::string& name() const override { return name_; }

 private:
  friend class ShareRound;
  std::string name_;
  TimeShareOptions options_;
  PackedPlace place_;
};

// The index of the configuration that runs what the user asked for on this device type, or -1.
int configuration_on(const Submission& spec, TypeId type);
// Believed work per second of the job there.
double believed_rate(const Cluster& cluster, const Submission& spec, TypeId type);
// Believed work left; without an estimate, as much as was done, and at least an hour's.
double remaining_work(const JobState& job, Seconds now);

}  // namespace weft

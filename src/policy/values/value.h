// Value, what a *choose* policy lives by: what is each way of running each job worth?
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/goodput.h"
#include "policy/solve/choose.h"
#include "policy/state.h"

namespace weft {

// One way to run a job: a configuration of its menu on one device type.
struct Offer {
  std::uint16_t configuration = 0;
  TypeId type = 0;  // 0 for all when types are not told apart
  std::int32_t devices = 1;
  Gang gang;         // as packed as can be
  double speed = 0;  // believed work per second; 0: not to be taken
  double value = 0;  // see ChooseOption
};

// A job that takes part in a round.
struct Bidder {
  const JobState* job = nullptr;
  std::span<Offer> offers;
  std::int32_t held = -1;  // index of the offer it holds now
  bool learning = false;   // elastic, and no gang of it has been measured yet
  Seconds restart_s = 0;
};

struct Round {
  const State* state = nullptr;
  std::vector<std::int64_t> capacity;  // devices per type, or of the whole pool
  std::vector<Bidder> bidders;
};

class Value {
 public:
  virtual ~Value() = default;

  // True: the cluster is one pool of like devices.
  virtual bool blind() const { return false; }
  // Called when the job or its report is new. Speed of an offer; 0: not to be taken.
  virtual double speed(const State& state, const JobState& job, const Offer& offer) const;
  // Writes the value of every offer whose speed is not 0; the others are worth 0 already.
  virtual void appraise(Round& round) const = 0;
  // One option or none for each bidder, within the capacity.
  virtual ChooseResult settle(const Round& round, const ChooseProblem& problem,
                              std::span<const double> warm_price) const;
};

// Work per second as the menu declares it.
double declared_speed(const State& state, const JobState& job, const Offer& offer);
// Work believed left, at least a fiftieth or a minute's. Without an estimate as much as has been
// done (a job that has run long will run long), and at least a minute's.
double believed_work_left(const JobState& job, Seconds now);
// Pollux (OSDI 2021, section 4.2.1): how much of a job's life so far and the next restart would be
// left for training if it went on restarting as often as it did.
double restart_factor(const Bidder& bidder, Seconds now);

std::unique_ptr<Value> sia_value(double power, double unplaced);
std::unique_ptr<Value> pollux_value();
std::unique_ptr<Value> optimus_value();
std::unique_ptr<Value> afs_value();

}  // namespace weft

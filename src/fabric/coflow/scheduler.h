// Decides in which order coflows are served, and by which rule each shares what it is given.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/coflow/bundle.h"

namespace weft {

// What a scheduler sees. Coflows that have not arrived are not there to be seen.
struct CoflowView {
  const CoflowTrace* trace = nullptr;  // of arrived coflows only by rule; index with Bundle::coflow
  double bytes_per_s = 0;              // of every port, up and down
  Seconds now = 0;
  bool coflows_changed = false;  // one came or ended since the last call
};

struct CoflowPlan {
  // First to last. The engine appends arrivals and drops what has ended.
  std::vector<Bundle*> order;
  // True: first every bundle in order gets what MADD needs, then what is left is shared in order.
  bool madd = false;
  BundleFill fill = BundleFill::kEqual;
};

class CoflowScheduler {
 public:
  virtual ~CoflowScheduler() = default;
  // Brings plan.order into order and sets the rest. Called when coflows have come or ended, after
  // all that happens at one moment, and when a bundle reaches its wake_sent; all are up to date.
  virtual void plan(const CoflowView& view, CoflowPlan& plan) = 0;
  // A part of an arriving coflow to be sent ahead as a bundle of its own, moved out of `bundle`;
  // without flows: none.
  virtual Bundle take_pilot(const CoflowView&, Bundle&) { return {}; }
  // A bundle is through.
  virtual void ended(const Bundle&) {}
  // Whether an arriving coflow is let in; one that is not counts as refused.
  virtual bool admits(const CoflowView&, const CoflowPlan&, const Bundle&) { return true; }
};

struct CoflowPolicy {
  std::string name, summary, source;
  std::unique_ptr<CoflowScheduler> (*make)();  // null: flows, not coflows, share the ports
};

const std::vector<CoflowPolicy>& coflow_policies();
Result<const CoflowPolicy*> find_coflow_policy(const std::string& name);

}  // namespace weft

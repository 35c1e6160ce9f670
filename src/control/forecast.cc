#include "control/forecast.h"

#include "control/controller.h"

namespace weft {
namespace {

struct NobodyListens : Executor {
  void execute(const Command&) override {}
};

// Keeps the decision that was made.
struct DecisionKept : Journal {
  void decided(const Draft& draft) override { decision = decision_of(draft); }
  Decision decision;
};

}  // namespace

Result<Takeover> preview_policy(const Cluster& cluster, const Policy& policy,
                                std::string_view image) {
  NobodyListens executor;
  DecisionKept kept;
  Controller controller(cluster, policy, executor, {}, &kept);
  const Status restored = controller.restore(image);
  if (!restored.ok()) return restored.error();
  std::map<JobId, Allocation> before;
  for (const JobId id : controller.state().active) {
    before[id] = controller.state().job(id).held;
  }
  controller.take_policy(policy);
  controller.decide(controller.state().now);
  Takeover out;
  for (const auto& [id, held] : kept.decision.held) {
    if (held == before[id]) continue;
    (before[id].empty() ? out.started : held.empty() ? out.stopped : out.changed).push_back(id);
  }
  for (const auto& [id, why] : kept.decision.rejected) out.rejected.push_back(id);
  return out;
}

}  // namespace weft

// A controller in the same process as the world.
#pragma once

#include "base/check.h"
#include "sim/control_side.h"
#include "sim/engine.h"

namespace weft {

class OwnController : public ControlSide {
 public:
  OwnController(const SimRequest& request, Executor& executor, ControllerOptions options,
                Journal& journal)
      : policy_(*request.policy),
        controller_(*request.cluster, policy_, executor, options, &journal) {
    controller_.reserve(request.trace->jobs.size() * request.options.replicate);
    State& state = controller_.mutable_state();
    state.pairs = request.trace->pairs;
    state.network = request.network;
    state.bandwidth = request.options.bandwidth;
    state.watched = request.options.watch;
    if (!request.resume) return;
    const Status restored = controller_.restore(*request.resume);
    CHECK_MSG(restored.ok(), "the image was restored before");
    controller_.take_policy(policy_);
  }

  JobId handle(const Event& event) override { return controller_.handle(event); }
  void decide(Seconds now) override { controller_.decide(now); }
  Seconds next_wake() override { return controller_.next_wake(); }
  void restart() override { controller_.take_policy(policy_); }
  void ask_again() override { controller_.ask_again(); }
  const Controller& controller() const override { return controller_; }

 private:
  const Policy& policy_;
  Controller controller_;
};

}  // namespace weft

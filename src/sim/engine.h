// Runs a trace through the controller in virtual time.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "control/controller.h"
#include "model/trace.h"
#include "sim/control_side.h"
#include "sim/metrics.h"
#include "sim/options.h"

namespace weft {

// Told now and then how far a long run is: simulated time, jobs ended, jobs in all.
using ProgressFunction = std::function<void(Seconds, long, long)>;

struct SimRequest {
  const Cluster* cluster = nullptr;
  const Trace* trace = nullptr;
  const Policy* policy = nullptr;
  SimOptions options;
  ProgressFunction progress;   // may be empty
  Journal* journal = nullptr;  // may be null
  // Jobs that span nodes slow each other on this network, endpoint i under node i; null: they do
  // not (rates are those of the menus).
  std::shared_ptr<const Topology> network;
  // Makes the controller that decides, which sends its commands to the executor and tells the
  // journal what it does; empty: one in this process. With another the channel must have a delay:
  // its commands come out at the end of an instant.
  std::function<std::unique_ptr<ControlSide>(Executor&, Journal&)> control_side;
  // Not from nothing but from this image of a controller (Controller::image): its jobs are the
  // trace's, by number, whose truth counts work as the image does. Nothing arrives any more. What
  // becomes of jobs is in the records; `makespan_s` is how far time went.
  std::optional<std::string_view> resume;
  // Asked now and then whether to stop on the way; may be empty. Only with `resume`.
  std::function<bool()> stop;
};

// Fails if a job can never run on the cluster, before anything is simulated, and if the policy
// leaves jobs waiting for ever (then naming them).
// Deterministic: the same request gives the same result, times of this machine aside.
// Cost: O(events log events).
Result<RunResult> simulate(const SimRequest& request);

}  // namespace weft

// The controller as a simulated world sees it: one in the same process, or a daemon's.
#pragma once

#include "control/controller.h"

namespace weft {

class ControlSide {
 public:
  virtual ~ControlSide() = default;
  // One of the events of an instant, in order. Returns the job's id for a submission.
  virtual JobId handle(const Event& event) = 0;
  // The instant's events have been told. Commands that follow have reached the executor, and what
  // was rejected the journal, when this returns.
  virtual void decide(Seconds now) = 0;
  // When it wants to be told a tick though nothing happens. Requires: decide() was called after the
  // last event.
  virtual Seconds next_wake() = 0;
  // It begins again, having everything but what its policy remembered.
  virtual void restart() = 0;
  // Sends what is pending again.
  virtual void ask_again() = 0;
  virtual const Controller& controller() const = 0;
};

}  // namespace weft

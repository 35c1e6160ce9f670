// The record of what the controller was told and what it decided.
#pragma once

#include <string>

#include "control/command.h"
#include "control/event.h"
#include "policy/draft.h"

namespace weft {

class Journal {
 public:
  virtual ~Journal() = default;
  virtual void event(const Event&) {}
  // The policy is about to be called with the events recorded since the last decision.
  virtual void decision(Seconds) {}
  // It was called; nothing has been sent yet. What it changed: decision_of (control/decision.h).
  virtual void decided(const Draft&) {}
  virtual void command(Seconds, const Command&) {}
  virtual void rejected(Seconds, JobId, const std::string&) {}
  virtual void reason(const Reason&) {}
};

}  // namespace weft

// Writes what --decisions asks for: one line per event, decision and command.
#pragma once

#include <string>
#include <vector>

#include "control/journal.h"

namespace weft {

// Deterministic text, the same whatever the number of threads.
class DecisionLog : public Journal {
 public:
  void event(const Event& event) override;
  void decision(Seconds at) override;
  void command(Seconds at, const Command& command) override;
  void rejected(Seconds at, JobId job, const std::string& why) override;
  void reason(const Reason& reason) override { reasons_.push_back(reason); }

  const std::string& text() const { return text_; }
  const std::vector<Reason>& reasons() const { return reasons_; }

 private:
  std::string text_;
  std::vector<Reason> reasons_;
};

// Keeps reasons only.
class ReasonLog : public Journal {
 public:
  void reason(const Reason& reason) override { reasons_.push_back(reason); }
  const std::vector<Reason>& reasons() const { return reasons_; }

 private:
  std::vector<Reason> reasons_;
};

}  // namespace weft

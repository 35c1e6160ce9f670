// What the controller asks of the world. A request, not a fact: it is pending until its outcome.
#pragma once

#include "model/allocation.h"

namespace weft {

enum class CommandKind : std::uint8_t { kNone, kStart, kStop, kResize };

// Whoever executes it answers with an outcome event of the same (job, epoch, number). A command
// with a number already executed is answered again and not executed again; one with a lower number
// is dropped.
struct Command {
  CommandKind kind = CommandKind::kNone;
  JobId job = kNoJob;
  std::uint32_t epoch = 0;                 // of the run it is about; every start raises it
  std::uint32_t number = 0;                // of the command; every new command of the job raises it
  Seconds deadline = kNever;               // then it is sent again
  const Allocation* allocation = nullptr;  // kStart, kResize; valid until the call returns
};

// Carries commands to whatever runs jobs.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void execute(const Command& command) = 0;
};

}  // namespace weft

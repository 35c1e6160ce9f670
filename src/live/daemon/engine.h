// What runs jobs for the controller: agents of our own, or another system's queue. It states what
// it can do, so that what it cannot is refused before it is tried.
#pragma once

#include <string>
#include <vector>

#include "live/daemon/brain.h"
#include "live/job/job_spec.h"
#include "policy/composition.h"

namespace weft::live {

struct Capabilities {
  bool device_index = false;  // a run gets the very devices that were chosen, not just so many
  bool freeze = false;        // a run can be held without being ended
  bool fraction = false;      // parts of a device
  bool bandwidth = false;     // limits and guarantees of a run's traffic
  bool resize = false;        // a run can have other shares while it goes on
  bool membership = false;    // ranks of a run can come and go while the others go on
  bool claim = false;         // no run of one epoch executes twice, whatever is asked how often
  bool foreign_jobs = false;  // others than ours may be on its nodes
  bool operator==(const Capabilities&) const = default;
};
// The names of those that are stated, as `weft status` shows them.
std::vector<std::string> names_of(const Capabilities& capabilities);

// What an engine says of itself before anything runs.
struct EngineStatement {
  std::string name;
  Capabilities can;
};

// A run as the engine has it. Runs are known by uuid and epoch, never by a number of the engine's,
// which it may give to another.
struct EngineRun {
  enum class State : std::uint8_t { kStarting, kRunning, kStopping, kFrozen, kGone };
  std::string uuid;
  std::uint32_t epoch = 0;
  State state = State::kStarting;
  std::uint64_t changed = 0;  // ascending over all runs
  bool operator==(const EngineRun&) const = default;
};

// carry_out() places (kStart), preempts or cancels (kStop) and resizes. A run that is frozen
// instead of ended goes on in the next epoch if that has the same devices, and else is gone before
// it begins. The answer is an event with the command's job, epoch and number. The same command may
// come again, before or after its answer: it is answered again and not done again. Thread-safe.
class Engine : public Hands {
 public:
  virtual const EngineStatement& statement() const = 0;
  // To all ranks of the job's run.
  virtual void signal(const std::string& uuid, int number) = 0;
  // The runs that changed after `since`, in order of the change; 0: all. What is gone is listed
  // once.
  virtual std::vector<EngineRun> list(std::uint64_t since) = 0;
};

// What is asked for and the engine does not state: the error says what, and what would do instead.
Status check_needs(const JobSpec& job, const EngineStatement& engine);
Status check_needs(const Composition& policy, const EngineStatement& engine);

}  // namespace weft::live

// What the world tells the controller. Events of one job may come late, twice or out of order.
#pragma once

#include <memory>

#include "model/goodput_report.h"
#include "model/workload.h"

namespace weft {

enum class EventKind : std::uint8_t {
  kSubmit,      // submission; value2 above 0: held, not for the policy to see until its kRelease
  kWithdraw,    // job: the user takes it back
  kOutcome,     // job, epoch, number, outcome: of a command
  kFinished,    // job, epoch: its work is done
  kCrashed,     // job, epoch: its ranks died; node: where, if known; value: work kept, value2: what
                // of it this run added
  kProgress,    // job, epoch, value: work done, value2: work per second; perhaps a report
  kLoad,        // job, number: of the notice, ascending; value: requests per second of a service
  kNodeDown,    // node, or one device of it
  kNodeUp,      // node, or one device of it
  kNodeNotice,  // node, or one device of it; value: the time at which it will go
  kTick,        // the wake time has come
  kRelease,     // job: what it was held for has come
  kEvict,       // job: stopped, and waits again
  kLost,        // job, epoch: those replicas of a service are gone that had a part on `node`, or
                // with a number above 0 ranks of so many devices of a job resized in place
  kClose,       // node, number; from `value` to `value2` for none but tenant `epoch` - 1, 0: for
                // nobody. An empty time: opened again
  kHoldBack,    // job, epoch: when this run is over, not before the time `value` again, and not on
                // `node`, if it names one, while others suffice
  kHold,  // job: not for the policy to see until its kRelease; value above 0: also if it runs,
          // then it is stopped, else one that runs goes on
};

enum class Outcome : std::uint8_t { kDone, kRefused, kFailed };

struct Event {
  Seconds at = 0;
  EventKind kind = EventKind::kTick;
  Outcome outcome = Outcome::kDone;
  JobId job = kNoJob;
  std::uint32_t epoch = 0;
  std::uint32_t number = 0;
  NodeId node = kNoNode;
  DeviceId device = kNoDevice;  // node events: of this device of the node alone
  double value = 0, value2 = 0;
  std::shared_ptr<const Submission> submission;  // kSubmit only
  std::shared_ptr<const GoodputReport> report;   // kProgress of elastic jobs
  Estimate estimate;  // kSubmit: takes the place of the submission's own if known
};

}  // namespace weft

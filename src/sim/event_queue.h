// Things that will happen in the simulated world, in order.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "base/units.h"

namespace weft {

// At one instant things happen in this order.
enum class Happening : std::uint8_t {
  kFinish,        // of a run: job, stamp
  kMeasure,       // an elastic job has run long enough to know its step time: job, run
  kOutageBegins,  // slot of the outage
  kOutageEnds,    // slot
  kOutageNotice,  // slot
  kLoadStep,      // job, index of the step
  kServiceEnds,   // job
  kDeliver,       // index of a message under way
  kRestart,       // of the controller
};

struct Scheduled {
  Seconds at = 0;
  Happening what = Happening::kFinish;
  std::uint32_t subject = 0;  // job, slot or message
  std::uint32_t detail = 0;   // stamp or step
  std::uint64_t order = 0;    // of scheduling, last resort among equals

  bool operator>(const Scheduled& other) const {
    if (at != other.at) return at > other.at;
    if (what != other.what) return what > other.what;
    return order > other.order;
  }
};

class EventQueue {
 public:
  void push(Seconds at, Happening what, std::uint32_t subject, std::uint32_t detail = 0) {
    queue_.push({at, what, subject, detail, next_order_++});
  }
  Seconds next_at() const { return queue_.empty() ? kNever : queue_.top().at; }
  Scheduled pop() {
    const Scheduled top = queue_.top();
    queue_.pop();
    return top;
  }

 private:
  std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>> queue_;
  std::uint64_t next_order_ = 0;
};

}  // namespace weft

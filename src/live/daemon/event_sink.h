// Where what happens in the world is told.
#pragma once

#include <functional>

#include "live/store/journal.h"
#include "live/store/records.h"

namespace weft::live {

// Thread-safe.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // `done` is called once the event is durable, or will never be.
  virtual void post(EventRecord record, std::function<void(const Status&)> done = nullptr,
                    DurableJournal::Weight weight = DurableJournal::Weight::kMustStay) = 0;
  // What a job says of itself: kept until a decision looks at it.
  virtual void report(const Event& progress) = 0;
  // The clock of the events' times.
  virtual Seconds now() const = 0;
};

}  // namespace weft::live

// The imperfect way between controller and world.
#pragma once

#include <functional>
#include <vector>

#include "base/random.h"
#include "control/command.h"
#include "control/event.h"
#include "sim/event_queue.h"
#include "sim/options.h"

namespace weft {

// Delays, loses, doubles and reorders messages as the options say. A lost notice (finished,
// crashed, load) is sent again by the agent; a lost command or outcome is not, the controller's
// deadline mends that.
class LossyChannel {
 public:
  LossyChannel(const Channel& options, std::uint64_t seed, EventQueue& queue)
      : options_(options), commands_(seed), events_(seed + 0x51ed270b), queue_(queue) {}

  struct Message {
    bool to_world = false;
    Command command;        // to_world
    Allocation allocation;  // to_world
    Event event;            // to the controller
  };

  void send(const Command& command, Seconds now);
  void send(const Event& event, Seconds now);
  bool refuses() { return events_.chance(options_.refusal); }
  // Requires: `index` came due in the event queue. The message is gone afterwards.
  Message take(std::uint32_t index);

 private:
  void put(Message message, Random& random, Seconds now);

  Channel options_;
  // Apart, so that what becomes of one side's messages does not depend on when within an instant
  // the other side sends its own.
  Random commands_, events_;
  EventQueue& queue_;
  std::vector<Message> under_way_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace weft

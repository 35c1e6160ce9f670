#include "sim/channel.h"

namespace weft {

void LossyChannel::put(Message message, Random& random, Seconds now) {
  const Seconds delay = options_.delay_mean > 0 ? random.exponential(options_.delay_mean) : 0;
  std::uint32_t index = static_cast<std::uint32_t>(under_way_.size());
  if (unused_.empty()) {
    under_way_.push_back(std::move(message));
  } else {
    index = unused_.back();
    unused_.pop_back();
    under_way_[index] = std::move(message);
  }
  queue_.push(now + delay, Happening::kDeliver, index);
}

void LossyChannel::send(const Command& command, Seconds now) {
  if (commands_.chance(options_.loss)) return;
  Message message;
  message.to_world = true;
  message.command = command;
  if (command.allocation != nullptr) message.allocation = *command.allocation;
  put(std::move(message), commands_, now);
}

void LossyChannel::send(const Event& event, Seconds now) {
  const bool notice = event.kind != EventKind::kOutcome;
  Seconds at = now;
  while (events_.chance(options_.loss)) {
    if (!notice) return;
    at += 1;  // the agent's own retry
  }
  Message message;
  message.event = event;
  put(message, events_, at);
  if (events_.chance(options_.duplication)) put(std::move(message), events_, at);
}

LossyChannel::Message LossyChannel::take(std::uint32_t index) {
  Message message = std::move(under_way_[index]);
  unused_.push_back(index);
  if (message.to_world && message.command.kind != CommandKind::kStop) {
    message.command.allocation = nullptr;  // the caller points it at message.allocation
  }
  return message;
}

}  // namespace weft

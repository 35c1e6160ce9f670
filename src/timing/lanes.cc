// What happens to a message between its two ends.
#include "timing/lanes.h"

#include <algorithm>

#include "base/check.h"

namespace weft {

using collective::Buffer;
using collective::Op;

double ScheduleRun::bytes_of(const Lane& lane, const Op& op) const {
  const collective::Cells& cells = op.source;
  const auto endpoint = static_cast<std::size_t>(lane.endpoint);
  const collective::Weights& weights =
      cells.buffer == Buffer::kScratch ? schedule_.programs[endpoint].scratch : schedule_.chunks;
  double weight = 0;
  if (weights.list.empty()) {
    weight = static_cast<double>(weights.each) * cells.count;
  } else {
    for (int j = 0; j < cells.count; ++j) {
      weight += static_cast<double>(
          weight_at(schedule_, lane.endpoint, cells.buffer, cells.at(lane.cursor.iteration(), j)));
    }
  }
  return task_.bytes * weight / static_cast<double>(schedule_.whole);
}

ScheduleRun::MessageId ScheduleRun::new_message() {
  if (free_messages_.empty()) {
    messages_.emplace_back();
    return static_cast<MessageId>(messages_.size() - 1);
  }
  const MessageId id = free_messages_.back();
  free_messages_.pop_back();
  messages_[id] = {};
  return id;
}

ScheduleRun::Channel& ScheduleRun::channel(int from, int to, int stream) {
  const auto endpoints = static_cast<std::uint64_t>(schedule_.endpoints());
  const std::uint64_t key =
      (static_cast<std::uint64_t>(stream) * endpoints + static_cast<std::uint64_t>(from)) *
          endpoints +
      static_cast<std::uint64_t>(to);
  return channels_[key];
}

void ScheduleRun::post_send(std::uint32_t lane_id, const Op& op, std::int32_t group,
                            double density) {
  Lane& lane = lanes_[lane_id];
  const int to = op.peer.at(lane.cursor.iteration());
  Channel& chan = channel(lane.endpoint, to, lane.stream);
  ++lane.open;
  const bool met = !chan.receives.empty();
  const MessageId id = met ? chan.receives.front() : new_message();
  if (met) chan.receives.pop_front();
  Message& message = messages_[id];
  message.sender = static_cast<std::int32_t>(lane_id);
  message.round = lane.cursor.number();
  message.bytes = bytes_of(lane, op) * density;
  message.streamed = op.streamed;
  message.sender_group = group;
  const auto vertex = [&](int endpoint) {
    return task_.placement.vertex[static_cast<std::size_t>(endpoint)];
  };
  message.route = &routes_.between(vertex(lane.endpoint), vertex(to));
  CHECK(!message.route->paths.empty());
  message.latency = message.route->latency;
  round_messages_ += 1;
  round_bytes_ += message.bytes;
  if (met) {
    begin(id);
    return;
  }
  chan.sends.push_back(id);
  if (chan.eager < schedule_.credits) {
    ++chan.eager;
    message.eager = true;
    begin(id);
  }
}

void ScheduleRun::post_receive(std::uint32_t lane_id, const Op& op, std::int32_t group) {
  Lane& lane = lanes_[lane_id];
  Channel& chan = channel(op.peer.at(lane.cursor.iteration()), lane.endpoint, lane.stream);
  ++lane.open;
  if (Forward* forward = forward_of(static_cast<std::int32_t>(lane_id), group)) {
    ++forward->unstarted;
    ++forward->receiving;
  }
  const bool met = !chan.sends.empty();
  const MessageId id = met ? chan.sends.front() : new_message();
  Message& message = messages_[id];
  message.receiver = static_cast<std::int32_t>(lane_id);
  message.receiver_group = group;
  if (!met) {
    chan.receives.push_back(id);
    return;
  }
  chan.sends.pop_front();
  if (!message.eager) {
    begin(id);
    return;
  }
  --chan.eager;
  if (message.begun) receive_started(message);
  if (message.arrived) {
    end_receive(message);
    free_messages_.push_back(id);
  }
}

ScheduleRun::Forward* ScheduleRun::forward_of(std::int32_t lane, std::int32_t group) {
  if (group == kNobody) return nullptr;
  return &lanes_[static_cast<std::size_t>(lane)].forward[static_cast<std::size_t>(group)];
}

void ScheduleRun::begin(MessageId id) {
  const Message& message = messages_[id];
  Forward* forward = message.streamed ? forward_of(message.sender, message.sender_group) : nullptr;
  if (forward != nullptr && forward->unstarted > 0) {
    forward->waiting.push_back(id);
  } else {
    arm(id);
  }
}

void ScheduleRun::arm(MessageId id) {
  messages_[id].start = sim_.now();
  set_timer(sim_.now() + messages_[id].latency, {Wake::kLaunch, id});
}

void ScheduleRun::launch(MessageId id) {
  Message& message = messages_[id];
  message.begun = true;
  message.flows_left = static_cast<std::uint32_t>(message.route->paths.size());
  for (const Routes::Path& path : message.route->paths) {
    const FlowId flow = sim_.start({routes_.links(path)}, message.bytes / message.flows_left);
    if (flow >= of_flow_.size()) of_flow_.resize(flow + std::size_t{1});
    of_flow_[flow] = id;
  }
  ++out_.executed_messages;
  if (message.receiver != kNobody) receive_started(message);
}

void ScheduleRun::receive_started(const Message& message) {
  Forward* forward = forward_of(message.receiver, message.receiver_group);
  if (forward == nullptr || --forward->unstarted > 0) return;
  const std::vector<MessageId> waiting = std::move(forward->waiting);
  forward->waiting.clear();
  for (MessageId id : waiting) arm(id);
}

// The bytes are through.
void ScheduleRun::arrived(MessageId id) {
  const Message& message = messages_[id];
  Forward* forward = message.streamed ? forward_of(message.sender, message.sender_group) : nullptr;
  if (forward != nullptr && forward->receiving > 0) {
    forward->held.push_back(id);
    return;
  }
  const Seconds at = forward != nullptr ? forward->received_at + message.latency : 0;
  if (at > sim_.now()) {
    set_timer(at, {Wake::kComplete, id});
  } else {
    complete(id);
  }
}

void ScheduleRun::complete(MessageId id) {
  Message& message = messages_[id];
  if (task_.record && out_.recorded.size() < kMaxRecorded) {
    const Lane& sender = lanes_[static_cast<std::size_t>(message.sender)];
    const int to = message.receiver == kNobody
                       ? sender.endpoint
                       : lanes_[static_cast<std::size_t>(message.receiver)].endpoint;
    out_.recorded.push_back({sender.endpoint, to, sender.stream, message.round, message.start,
                             sim_.now(), message.bytes});
  }
  close_one(static_cast<std::uint32_t>(message.sender));
  if (message.receiver == kNobody) {
    message.arrived = true;
    return;
  }
  end_receive(message);
  free_messages_.push_back(id);
}

void ScheduleRun::end_receive(const Message& message) {
  Forward* forward = forward_of(message.receiver, message.receiver_group);
  if (forward != nullptr && --forward->receiving == 0) {
    forward->received_at = sim_.now();
    for (MessageId id : forward->held) {
      set_timer(sim_.now() + messages_[id].latency, {Wake::kComplete, id});
    }
    forward->held.clear();
  }
  close_one(static_cast<std::uint32_t>(message.receiver));
}

void ScheduleRun::close_one(std::uint32_t lane_id) {
  if (--lanes_[lane_id].open == 0) ready_.push_back(lane_id);
}

}  // namespace weft

#include "collective/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace weft::collective {

Tracking Tracking::bits(int ranks, int first) {
  Tracking tracking{.exact = true, .first = first, .keys = {}};
  tracking.keys.assign(static_cast<std::size_t>(ranks), 0);
  for (int r = first; r < std::min(ranks, first + 64); ++r) {
    tracking.keys[static_cast<std::size_t>(r)] = std::uint64_t{1} << (r - first);
  }
  return tracking;
}

Tracking Tracking::sums(int ranks) {
  Tracking tracking{.exact = false, .first = 0, .keys = {}};
  Random random(0x7765667420726e67);
  for (int r = 0; r < ranks; ++r) tracking.keys.push_back(random.next());
  return tracking;
}

Machine::Machine(const Schedule& schedule, const Tracking& tracking)
    : schedule_(schedule), tracking_(tracking), hazards_(schedule) {
  for (int e = 0; e < schedule.endpoints(); ++e) {
    const std::int64_t cells =
        cells_in(schedule, e, Buffer::kOutput) + cells_in(schedule, e, Buffer::kScratch);
    cells_.emplace_back(static_cast<std::size_t>(cells));
    heard_.push_back(e < schedule.ranks ? tracking.keys[static_cast<std::size_t>(e)] : 0);
    const Program& program = schedule.programs[static_cast<std::size_t>(e)];
    for (int s = 0; s < schedule.streams(); ++s) {
      lanes_.emplace_back(program.streams[static_cast<std::size_t>(s)], e, s);
    }
  }
}

Machine::Channel& Machine::channel(int from, int to, int stream) {
  const auto endpoints = static_cast<std::uint64_t>(schedule_.endpoints());
  const std::uint64_t pair =
      static_cast<std::uint64_t>(from) * endpoints + static_cast<std::uint64_t>(to);
  const std::uint64_t key = pair * kMaxStreams + static_cast<std::uint64_t>(stream);
  Channel& found = channels_[key];
  found.key = key;
  return found;
}

Status Machine::run() {
  for (std::size_t lane = lanes_.size(); lane-- > 0;) ready_.push_back(static_cast<int>(lane));
  while (fault_.ok() && !(ready_.empty() && complete_.empty())) {
    if (!complete_.empty()) {
      const auto [lane, group] = complete_.back();
      complete_.pop_back();
      finish_group(lane, group);
    } else {
      const int lane = ready_.back();
      ready_.pop_back();
      advance(lane);
    }
  }
  if (!fault_.ok()) return fault_;
  return explain_wait();
}

// Takes a lane through its rounds until it has to wait for somebody.
void Machine::advance(int number) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  while (!lane.cursor.done() && fault_.ok()) {
    if (!lane.entered) enter(number);
    if (!fault_.ok() || lane.open > 0) return;
    for (int op = 0; op < static_cast<int>(lane.tasks.size()); ++op) apply(lane, op);
    lane.cursor.next();
    lane.entered = false;
  }
}

void Machine::enter(int number) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  const Round& round = lane.cursor.round();
  lane.entered = true;
  lane.tasks.assign(round.ops.size(), {});
  lane.groups.clear();
  lane.open = static_cast<int>(round.ops.size());
  const int ops = lane.open;
  for (int op = 0; op < ops; ++op) {
    if (!in_range(lane, op)) return;
  }
  std::string hazard = hazards_.check(lane.endpoint, round, lane.cursor.iteration());
  if (!hazard.empty()) return fail(lane, std::move(hazard));
  const bool streamed =
      std::any_of(round.ops.begin(), round.ops.end(), [](const Op& op) { return op.streamed; });
  if (streamed) lane.groups = hazards_.groups();
  for (int op = 0; op < ops && fault_.ok(); ++op) {
    const Op& o = round.ops[static_cast<std::size_t>(op)];
    if (o.kind == Kind::kCopy || o.kind == Kind::kReduce) finish(number, op);
    if (o.kind == Kind::kSend && !o.streamed) post_send(number, op);
  }
  if (streamed) enter_streamed(number);
  for (int op = 0; op < ops && fault_.ok(); ++op) {
    const Kind kind = round.ops[static_cast<std::size_t>(op)].kind;
    if (kind == Kind::kReceive || kind == Kind::kReceiveReduce) post_receive(number, op);
  }
}

// Counts what streamed sends have to wait for and posts those that wait for nothing.
void Machine::enter_streamed(int number) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  const Round& round = lane.cursor.round();
  lane.remaining.assign(round.ops.size(), 0);
  for (std::size_t op = 0; op < round.ops.size(); ++op) {
    if (round.ops[op].kind == Kind::kSend || lane.tasks[op].done) continue;
    ++lane.remaining[static_cast<std::size_t>(lane.groups[op])];
  }
  for (std::size_t op = 0; op < round.ops.size() && fault_.ok(); ++op) {
    if (lane.groups[op] != static_cast<int>(op) || lane.remaining[op] > 0) continue;
    complete_.emplace_back(number, static_cast<int>(op));
  }
}

bool Machine::cells_in_range(const Lane& lane, const Cells& cells, int op) {
  const std::int64_t size = cells_in(schedule_, lane.endpoint, cells.buffer);
  for (int j = 0; j < cells.count; ++j) {
    const int cell = cells.at(lane.cursor.iteration(), j);
    if (cell >= 0 && cell < size) continue;
    fail(lane, fmt::format("operation {}: chunk or cell {} of the {} does not exist; it has {}", op,
                           cell, name_of(cells.buffer), size));
    return false;
  }
  return true;
}

bool Machine::in_range(const Lane& lane, int op) {
  const Op& o = lane.cursor.round().ops[static_cast<std::size_t>(op)];
  if (o.kind != Kind::kReceive && !cells_in_range(lane, o.source, op)) return false;
  if (o.kind != Kind::kSend && !cells_in_range(lane, o.target, op)) return false;
  if (o.kind == Kind::kCopy || o.kind == Kind::kReduce) return true;
  const int peer = o.peer.at(lane.cursor.iteration());
  const Cells& cells = o.kind == Kind::kSend ? o.source : o.target;
  const int cell = cells.count > 0 ? cells.at(lane.cursor.iteration(), 0) : 0;
  if (peer == lane.endpoint) {
    fail(lane, fmt::format("operation {}: {} of {} cell {} has itself as peer", op, name_of(o.kind),
                           name_of(cells.buffer), cell));
  } else if (peer < 0 || peer >= schedule_.endpoints()) {
    fail(lane,
         fmt::format("operation {}: {} of {} cell {} has peer {}; there are {} endpoints", op,
                     name_of(o.kind), name_of(cells.buffer), cell, peer, schedule_.endpoints()));
  }
  return fault_.ok();
}

void Machine::post_send(int number, int op) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  const Round& round = lane.cursor.round();
  const Op& o = round.ops[static_cast<std::size_t>(op)];
  Message message{.lane = number,
                  .op = op,
                  .round = lane.cursor.number(),
                  .density = round.density,
                  .payload = {}};
  for (int j = 0; j < o.source.count && fault_.ok(); ++j) {
    message.payload.push_back(read(lane, o.source, j));
  }
  if (schedule_.operation == Operation::kBarrier) {
    Value knowledge;
    knowledge.ranks = heard_[static_cast<std::size_t>(lane.endpoint)];
    message.payload.push_back(knowledge);
  }
  const int peer = o.peer.at(lane.cursor.iteration());
  Channel& link = channel(lane.endpoint, peer, lane.stream);
  message.eager = link.sends.size() < static_cast<std::size_t>(schedule_.credits);
  const bool eager = message.eager;
  link.sends.items.push_back(std::move(message));
  if (eager) finish(number, op);
  deliver(link);
}

void Machine::post_receive(int number, int op) {
  const Lane& lane = lanes_[static_cast<std::size_t>(number)];
  const Op& o = lane.cursor.round().ops[static_cast<std::size_t>(op)];
  Channel& link = channel(o.peer.at(lane.cursor.iteration()), lane.endpoint, lane.stream);
  link.receives.items.emplace_back(number, op);
  deliver(link);
}

void Machine::deliver(Channel& link) {
  while (!link.sends.empty() && !link.receives.empty() && fault_.ok()) {
    Message message = link.sends.pop();
    const auto credits = static_cast<std::size_t>(schedule_.credits);
    if (credits > 0 && link.sends.size() >= credits) {
      Message& moves_up = link.sends.items[link.sends.head + credits - 1];
      if (!moves_up.eager) finish(moves_up.lane, moves_up.op);
      moves_up.eager = true;
    }
    const auto [lane, op] = link.receives.pop();
    join(std::move(message), lane, op);
  }
  if (link.sends.empty() && link.receives.empty()) channels_.erase(link.key);
}

void Machine::join(Message message, int number, int op) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  const Round& round = lane.cursor.round();
  const auto want = static_cast<std::size_t>(round.ops[static_cast<std::size_t>(op)].target.count);
  const bool barrier = schedule_.operation == Operation::kBarrier;
  const std::size_t sent = message.payload.size() - (barrier ? 1 : 0);
  const auto from = [&] {
    const int sender = lanes_[static_cast<std::size_t>(message.lane)].endpoint;
    return fmt::format("{} in its round {}", endpoint_name(schedule_, sender), message.round);
  };
  const std::int64_t chunk = sent > 0 ? message.payload.front().chunk : 0;
  if (sent != want) {
    fail(lane, chunk,
         fmt::format("operation {} receives {} cells, but {} sends {}", op, want, from(), sent));
  } else if (message.density != round.density) {
    fail(lane, chunk,
         fmt::format("operation {} has density {}, but {} has {}", op, round.density, from(),
                     message.density));
  } else if (schedule_.lockstep && message.round != lane.cursor.number()) {
    fail(lane, chunk,
         fmt::format("operation {} receives what {} sent, which is not lockstep", op, from()));
  }
  lane.tasks[static_cast<std::size_t>(op)].payload = std::move(message.payload);
  finish(number, op);
  if (!message.eager) finish(message.lane, message.op);
}

void Machine::finish(int number, int op) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  lane.tasks[static_cast<std::size_t>(op)].done = true;
  if (--lane.open == 0) ready_.push_back(number);
  const Kind kind = lane.cursor.round().ops[static_cast<std::size_t>(op)].kind;
  const bool waited_for = kind == Kind::kReceive || kind == Kind::kReceiveReduce;
  if (lane.groups.empty() || !waited_for) return;
  const int group = lane.groups[static_cast<std::size_t>(op)];
  if (--lane.remaining[static_cast<std::size_t>(group)] == 0) {
    complete_.emplace_back(number, group);
  }
}

// All that a group writes has arrived: apply it in order, then forward it.
void Machine::finish_group(int number, int group) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  const auto ops = static_cast<int>(lane.tasks.size());
  for (int pass = 0; pass < 2; ++pass) {
    for (int op = 0; op < ops && fault_.ok(); ++op) {
      if (lane.groups[static_cast<std::size_t>(op)] != group) continue;
      const bool streamed = lane.cursor.round().ops[static_cast<std::size_t>(op)].streamed;
      if (pass == 0 && !streamed) apply(lane, op);
      if (pass == 1 && streamed) post_send(number, op);
    }
  }
}

void Machine::fail(const Lane& lane, std::string what) {
  if (!fault_.ok()) return;
  fault_ = Error{ErrorKind::kInvalidInput,
                 fmt::format("{}, stream {}, round {}: {}", endpoint_name(schedule_, lane.endpoint),
                             lane.stream, lane.cursor.number(), what),
                 ""};
}

void Machine::fail(const Lane& lane, std::int64_t chunk, std::string what) {
  fail(lane, fmt::format("chunk {}: {}", chunk, what));
}

}  // namespace weft::collective

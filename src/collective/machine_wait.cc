// Why endpoints still wait when nothing moves any more.
#include <fmt/core.h>

#include "collective/machine.h"

namespace weft::collective {

// The lane that an unfinished operation of `lane` waits for, with the operation in words.
int Machine::waits_for(const Lane& lane, std::string& what) const {
  const Round& round = lane.cursor.round();
  for (std::size_t op = 0; op < round.ops.size(); ++op) {
    const Op& o = round.ops[op];
    const bool held_back =
        o.streamed && lane.remaining[static_cast<std::size_t>(lane.groups[op])] > 0;
    if (lane.tasks[op].done || held_back) continue;
    const bool sends = o.kind == Kind::kSend;
    const Cells& cells = sends ? o.source : o.target;
    const int peer = o.peer.at(lane.cursor.iteration());
    what = fmt::format("{} {} {}", name_of(o.kind), sends ? "to" : "from",
                       endpoint_name(schedule_, peer));
    if (cells.count > 0) {
      const std::int64_t cell = cells.at(lane.cursor.iteration(), 0);
      what +=
          cells.buffer == Buffer::kScratch
              ? fmt::format(" of scratch cell {}", cell)
              : fmt::format(" of chunk {}", chunk_at(schedule_, lane.endpoint, cells.buffer, cell));
    }
    return lane_of(peer, lane.stream);
  }
  return -1;
}

Status Machine::explain_wait() const {
  int stuck = -1;
  for (std::size_t lane = 0; lane < lanes_.size() && stuck < 0; ++lane) {
    if (!lanes_[lane].cursor.done()) stuck = static_cast<int>(lane);
  }
  if (stuck < 0) return {};
  std::vector<bool> seen(lanes_.size());
  std::string story;
  int told = 0;
  while (true) {
    const Lane& lane = lanes_[static_cast<std::size_t>(stuck)];
    const std::string who =
        fmt::format("{}, stream {}, round {}", endpoint_name(schedule_, lane.endpoint), lane.stream,
                    lane.cursor.number());
    seen[static_cast<std::size_t>(stuck)] = true;
    std::string what;
    const int next = waits_for(lane, what);
    if (next >= 0 && lanes_[static_cast<std::size_t>(next)].cursor.done()) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("{}: the {} meets nothing: the peer has ended", who, what), ""};
    }
    if (++told <= 8)
      story += fmt::format("{}{}: {}", told > 1 ? ", which waits for " : "", who, what);
    if (next < 0 || seen[static_cast<std::size_t>(next)]) break;
    stuck = next;
  }
  return Error{
      ErrorKind::kInvalidInput,
      fmt::format("{}, which closes a circle: deadlock with {} credits", story, schedule_.credits),
      "order the operations so that both sides reach a message in the same round, or "
      "declare more credits"};
}

}  // namespace weft::collective

#include "collective/reference_testing.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "collective/cursor.h"
#include "collective/hazards.h"

namespace weft::collective {
namespace {

using Message = std::vector<Numbers>;
using Links = std::map<std::tuple<int, int, int>, std::deque<Message>>;

std::vector<Numbers>& buffer_of(Memory& memory, Buffer buffer) {
  if (buffer == Buffer::kInput) return memory.input;
  return buffer == Buffer::kOutput ? memory.output : memory.scratch;
}

double number(int rank, std::int64_t chunk, std::size_t place) {
  return static_cast<double>((rank * 7919 + chunk * 104729 + static_cast<int>(place) * 31) % 9973);
}

Numbers add(Numbers a, const Numbers& b) {
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) a[i] += b[i];
  return a;
}

struct Lane {
  int endpoint;
  int stream;
  Cursor cursor;
  bool entered = false;
  std::vector<bool> done = {};  // by operation
};

class Runner {
 public:
  Runner(const Schedule& schedule, std::vector<Memory>& memory, Links& links, bool in_place)
      : schedule_(schedule), memory_(memory), links_(links), in_place_(in_place) {}

  // Goes on until a message is missing. True if anything was done.
  bool step(Lane& lane) {
    bool moved = false;
    while (!lane.cursor.done()) {
      const auto& ops = lane.cursor.round().ops;
      if (!lane.entered) {
        lane.entered = true;
        lane.done.assign(ops.size(), false);
        for (const Op& op : ops) {
          if (op.kind == Kind::kSend && !op.streamed) post(lane, op);
        }
      }
      for (std::size_t o = 0; o < ops.size(); ++o) {
        if (lane.done[o] || must_wait(lane, o) || !perform(lane, ops[o])) continue;
        lane.done[o] = true;
        moved = true;
      }
      if (std::count(lane.done.begin(), lane.done.end(), false) > 0) return moved;
      lane.cursor.next();
      lane.entered = false;
      moved = true;
    }
    return moved;
  }

 private:
  // Whether an operation listed before it is still to write its cells, or to receive from its peer.
  bool must_wait(const Lane& lane, std::size_t o) const {
    const std::int64_t i = lane.cursor.iteration();
    const auto& ops = lane.cursor.round().ops;
    const Op& mine = ops[o];
    const bool sends = mine.kind == Kind::kSend;
    const Cells& cells = sends ? mine.source : mine.target;
    for (std::size_t k = 0; k < o; ++k) {
      if (lane.done[k] || ops[k].kind == Kind::kSend) continue;
      if (!sends && ops[k].peer.at(i) == mine.peer.at(i)) return true;
      for (int a = 0; a < cells.count && ops[k].target.buffer == cells.buffer; ++a) {
        for (int b = 0; b < ops[k].target.count; ++b) {
          if (cells.at(i, a) == ops[k].target.at(i, b)) return true;
        }
      }
    }
    return false;
  }

  Numbers& cell(const Lane& lane, const Cells& cells, int j) {
    auto& memory = memory_[static_cast<std::size_t>(lane.endpoint)];
    const int at = cells.at(lane.cursor.iteration(), j);
    if (in_place_ && cells.buffer == Buffer::kInput) {
      const std::int64_t alias = alias_of(schedule_, lane.endpoint, at);
      if (alias >= 0) return memory.output[static_cast<std::size_t>(alias)];
    }
    return buffer_of(memory, cells.buffer)[static_cast<std::size_t>(at)];
  }

  void post(const Lane& lane, const Op& op) {
    Message message;
    for (int j = 0; j < op.source.count; ++j) message.push_back(cell(lane, op.source, j));
    links_[{lane.endpoint, op.peer.at(lane.cursor.iteration()), lane.stream}].push_back(message);
  }

  bool perform(const Lane& lane, const Op& op) {
    Message message;
    if (op.kind == Kind::kSend) {
      if (op.streamed) post(lane, op);
      return true;
    }
    if (op.kind == Kind::kReceive || op.kind == Kind::kReceiveReduce) {
      auto& link = links_[{op.peer.at(lane.cursor.iteration()), lane.endpoint, lane.stream}];
      if (link.empty()) return false;
      message = std::move(link.front());
      link.pop_front();
    }
    for (int j = 0; j < op.target.count; ++j) {
      Numbers& target = cell(lane, op.target, j);
      const auto at = static_cast<std::size_t>(j);
      if (op.kind == Kind::kReceive) target = message[at];
      if (op.kind == Kind::kReceiveReduce) target = add(cell(lane, op.source, j), message[at]);
      if (op.kind == Kind::kCopy) target = cell(lane, op.source, j);
      if (op.kind == Kind::kReduce) target = add(target, cell(lane, op.source, j));
    }
    return true;
  }

  const Schedule& schedule_;
  std::vector<Memory>& memory_;
  Links& links_;
  bool in_place_;
};

void move_inputs_to_outputs(const Schedule& s, std::vector<Memory>& memory) {
  for (int e = 0; e < s.ranks; ++e) {
    Memory& mine = memory[static_cast<std::size_t>(e)];
    for (std::size_t cell = 0; cell < mine.input.size(); ++cell) {
      const std::int64_t alias = alias_of(s, e, static_cast<std::int64_t>(cell));
      if (alias >= 0) std::swap(mine.output[static_cast<std::size_t>(alias)], mine.input[cell]);
    }
  }
}

Numbers expected(const Schedule& s, std::int64_t chunk) {
  Numbers want(s.chunks.at(chunk));
  const std::int64_t each = std::max<std::int64_t>(s.chunks.count / s.ranks, 1);
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (s.operation == Operation::kBroadcast) {
      want[i] = number(s.root, chunk, i);
    } else if (!sums(s.operation)) {
      want[i] = number(static_cast<int>(chunk / each), chunk, i);
    } else {
      for (int r = 0; r < s.ranks; ++r) want[i] += number(r, chunk, i);
    }
  }
  return want;
}

}  // namespace

std::vector<Memory> make_memory(const Schedule& s) {
  std::vector<Memory> memory(static_cast<std::size_t>(s.endpoints()));
  for (int e = 0; e < s.endpoints(); ++e) {
    Memory& mine = memory[static_cast<std::size_t>(e)];
    mine.output.resize(static_cast<std::size_t>(cells_in(s, e, Buffer::kOutput)));
    mine.scratch.resize(static_cast<std::size_t>(cells_in(s, e, Buffer::kScratch)));
    for (std::int64_t cell = 0; cell < cells_in(s, e, Buffer::kInput); ++cell) {
      const std::int64_t chunk = chunk_at(s, e, Buffer::kInput, cell);
      Numbers& numbers = mine.input.emplace_back(s.chunks.at(chunk));
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number(e, chunk, i);
    }
  }
  return memory;
}

bool execute(const Schedule& schedule, std::vector<Memory>& memory, bool in_place) {
  Links links;
  Runner runner(schedule, memory, links, in_place);
  if (in_place) move_inputs_to_outputs(schedule, memory);
  std::vector<Lane> lanes;
  for (int e = 0; e < schedule.endpoints(); ++e) {
    const auto& streams = schedule.programs[static_cast<std::size_t>(e)].streams;
    for (int s = 0; s < schedule.streams(); ++s) {
      lanes.push_back({e, s, Cursor(streams[static_cast<std::size_t>(s)])});
    }
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (Lane& lane : lanes) moved = runner.step(lane) || moved;
  }
  return std::all_of(lanes.begin(), lanes.end(),
                     [](const Lane& lane) { return lane.cursor.done(); });
}

std::string compare_outputs(const Schedule& s, const std::vector<Memory>& memory) {
  for (int r = 0; r < s.ranks; ++r) {
    const auto& output = memory[static_cast<std::size_t>(r)].output;
    for (std::size_t cell = 0; cell < output.size(); ++cell) {
      const auto chunk = chunk_at(s, r, Buffer::kOutput, static_cast<std::int64_t>(cell));
      if (output[cell] == expected(s, chunk)) continue;
      return fmt::format("rank {} has chunk {} wrong", r, chunk);
    }
  }
  return "";
}

}  // namespace weft::collective

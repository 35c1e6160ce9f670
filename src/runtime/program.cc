#include "runtime/program.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "collective/cursor.h"

namespace weft::runtime {
namespace {

using collective::Buffer;
using collective::Cells;
using collective::Kind;
using collective::Op;
using collective::Schedule;

constexpr std::uint32_t kNothing = ~std::uint32_t{0};

bool takes(Kind kind) { return kind == Kind::kReceive || kind == Kind::kReceiveReduce; }

// Follows the chunks through all endpoints. Messages wait without limit, so the order in which
// lanes are served does not matter.
class Follower {
 public:
  explicit Follower(const Schedule& schedule) : schedule_(schedule) {
    programs_.resize(static_cast<std::size_t>(schedule.endpoints()));
    for (int e = 0; e < schedule.endpoints(); ++e) begin(e);
  }

  std::vector<EndpointProgram> run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (Lane& lane : lanes_) moved |= advance(lane);
    }
    for (const Lane& lane : lanes_) CHECK_MSG(lane.cursor.done(), "the schedule was not verified");
    return std::move(programs_);
  }

 private:
  struct Lane {
    int endpoint;
    int stream;
    collective::Cursor cursor;
    bool entered = false;
    std::size_t next = 0;  // of the round's operations: receives, copies and streamed sends
  };
  using Pair = std::tuple<int, int, int>;  // from, to, stream

  void begin(int endpoint) {
    const collective::Program& program = schedule_.programs[static_cast<std::size_t>(endpoint)];
    EndpointProgram& out = programs_[static_cast<std::size_t>(endpoint)];
    out.operation = schedule_.operation;
    out.algorithm = schedule_.algorithm;
    out.ranks = schedule_.ranks;
    out.endpoints = schedule_.endpoints();
    out.endpoint = endpoint;
    out.in_place = schedule_.in_place;
    out.chunks = schedule_.chunks;
    out.scratch_cells = static_cast<std::uint32_t>(program.scratch.count);
    out.lanes.resize(program.streams.size());
    held_.emplace_back();
    for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput, Buffer::kScratch}) {
      const auto cells = static_cast<std::size_t>(cells_in(schedule_, endpoint, buffer));
      auto& held = held_.back()[static_cast<std::size_t>(buffer)];
      held.assign(cells, kNothing);
      for (std::size_t c = 0; buffer == Buffer::kInput && c < cells; ++c) {
        held[c] = static_cast<std::uint32_t>(
            chunk_at(schedule_, endpoint, buffer, static_cast<std::int64_t>(c)));
      }
    }
    for (std::size_t s = 0; s < program.streams.size(); ++s) {
      lanes_.push_back({endpoint, static_cast<int>(s), collective::Cursor(program.streams[s])});
    }
  }

  std::uint32_t& held(int endpoint, const Cell& cell) {
    return held_[static_cast<std::size_t>(endpoint)][static_cast<std::size_t>(cell.buffer)]
                [cell.index];
  }

  std::vector<Cell> cells_of(const Lane& lane, const Cells& cells) {
    std::vector<Cell> out;
    for (int j = 0; j < cells.count; ++j) {
      Cell cell{cells.buffer, static_cast<std::uint32_t>(cells.at(lane.cursor.iteration(), j)), 0};
      cell.chunk = held(lane.endpoint, cell);
      out.push_back(cell);
    }
    return out;
  }

  ProgramRound& round_of(const Lane& lane) {
    return programs_[static_cast<std::size_t>(lane.endpoint)]
        .lanes[static_cast<std::size_t>(lane.stream)]
        .back();
  }

  Step send_step(const Lane& lane, const Op& op) {
    const int peer = op.peer.at(lane.cursor.iteration());
    Step step{.kind = Kind::kSend, .peers = {peer}, .source = cells_of(lane, op.source)};
    const Pair pair{lane.endpoint, peer, lane.stream};
    step.index = sent_[pair]++;
    std::vector<std::uint32_t> chunks;
    for (const Cell& cell : step.source) chunks.push_back(cell.chunk);
    under_way_[pair].push_back(std::move(chunks));
    return step;
  }

  void enter(Lane& lane) {
    programs_[static_cast<std::size_t>(lane.endpoint)]
        .lanes[static_cast<std::size_t>(lane.stream)]
        .emplace_back();
    lane.entered = true;
    lane.next = 0;
    ProgramRound& round = round_of(lane);
    for (const Op& op : lane.cursor.round().ops) {
      if (op.kind != Kind::kSend || op.streamed) continue;
      Step step = send_step(lane, op);
      const auto same = std::find_if(round.sends.begin(), round.sends.end(), [&](const Step& s) {
        return s.source == step.source && s.index == step.index;
      });
      if (same != round.sends.end()) {
        same->peers.push_back(step.peers[0]);
      } else {
        round.sends.push_back(std::move(step));
      }
    }
  }

  // What the message brings, or nothing when it is not there yet.
  bool receive(Lane& lane, const Op& op, Step& step, std::vector<std::uint32_t>& chunks) {
    const int peer = op.peer.at(lane.cursor.iteration());
    const Pair pair{peer, lane.endpoint, lane.stream};
    auto& queue = under_way_[pair];
    if (queue.empty()) return false;
    chunks = std::move(queue.front());
    queue.pop_front();
    step.peers = {peer};
    step.index = received_[pair]++;
    return true;
  }

  bool take(Lane& lane, const Op& op) {
    Step step{.kind = op.kind};
    std::vector<std::uint32_t> chunks;
    if (takes(op.kind) && !receive(lane, op, step, chunks)) return false;
    if (op.kind != Kind::kReceive) step.source = cells_of(lane, op.source);
    if (op.kind == Kind::kCopy || op.kind == Kind::kReduce) {
      for (const Cell& cell : step.source) chunks.push_back(cell.chunk);
    }
    step.target = cells_of(lane, op.target);
    CHECK_MSG(chunks.size() == step.target.size(), "the schedule was not verified");
    for (std::size_t j = 0; j < chunks.size(); ++j) {
      step.target[j].chunk = chunks[j];
      held(lane.endpoint, step.target[j]) = chunks[j];
    }
    round_of(lane).steps.push_back(std::move(step));
    return true;
  }

  // Whether anything was done.
  bool advance(Lane& lane) {
    bool moved = false;
    while (!lane.cursor.done()) {
      if (!lane.entered) enter(lane);
      moved = true;
      const std::vector<Op>& ops = lane.cursor.round().ops;
      for (; lane.next < ops.size(); ++lane.next) {
        const Op& op = ops[lane.next];
        if (op.kind == Kind::kSend) {
          if (op.streamed) round_of(lane).steps.push_back(send_step(lane, op));
        } else if (!take(lane, op)) {
          return moved;
        }
        moved = true;
      }
      lane.cursor.next();
      lane.entered = false;
    }
    return moved;
  }

  const Schedule& schedule_;
  std::vector<EndpointProgram> programs_;
  std::vector<std::array<std::vector<std::uint32_t>, 3>> held_;  // by endpoint, buffer, cell
  std::vector<Lane> lanes_;
  std::map<Pair, std::deque<std::vector<std::uint32_t>>> under_way_;
  std::map<Pair, std::uint32_t> sent_, received_;
};

bool names(const std::vector<Cell>& cells, const Cell& cell) {
  return std::any_of(cells.begin(), cells.end(), [&](const Cell& p) {
    return p.buffer == cell.buffer && p.index == cell.index;
  });
}

// Whether the value that `cell` has after `step` of `rounds[at]` is read by anything but the send
// that forwards it, before it is written again. With in-place schedules input and output are the
// same memory: a read of either counts.
bool read_later(const EndpointProgram& program, const std::vector<ProgramRound>& rounds,
                std::size_t at, std::size_t step, const Cell& cell, int forwards) {
  const auto reads = [&](const Step& s) {
    Cell other = cell;
    if (program.in_place && cell.buffer != Buffer::kScratch) {
      other.buffer = cell.buffer == Buffer::kInput ? Buffer::kOutput : Buffer::kInput;
      if (names(s.source, other)) return true;
    }
    return names(s.source, cell) || (s.kind == Kind::kReduce && names(s.target, cell));
  };
  for (std::size_t r = at; r < rounds.size(); ++r) {
    if (r > at) {
      for (std::size_t i = 0; i < rounds[r].sends.size(); ++i) {
        if (r == at + 1 && static_cast<int>(i) == forwards) continue;
        if (reads(rounds[r].sends[i])) return true;
      }
    }
    for (std::size_t i = r == at ? step + 1 : 0; i < rounds[r].steps.size(); ++i) {
      if (reads(rounds[r].steps[i])) return true;
      if (names(rounds[r].steps[i].target, cell)) return false;
    }
  }
  return cell.buffer == Buffer::kOutput;  // the result
}

// Finds receives whose result goes on to the next at once, and results that nobody else reads.
void find_forwards(EndpointProgram& program) {
  for (auto& rounds : program.lanes) {
    for (std::size_t r = 0; r + 1 < rounds.size(); ++r) {
      for (std::size_t s = 0; s < rounds[r].steps.size(); ++s) {
        Step& step = rounds[r].steps[s];
        if (!takes(step.kind) || step.target.size() != 1) continue;
        const bool last = std::none_of(
            rounds[r].steps.begin() + static_cast<std::ptrdiff_t>(s) + 1, rounds[r].steps.end(),
            [&](const Step& later) { return names(later.target, step.target[0]); });
        if (!last) continue;
        const auto& sends = rounds[r + 1].sends;
        const auto found = std::find_if(sends.begin(), sends.end(), [&](const Step& send) {
          return send.source == step.target && send.peers.size() == 1;
        });
        if (found == sends.end()) continue;
        step.forwards = static_cast<int>(found - sends.begin());
        step.target_unread = !read_later(program, rounds, r, s, step.target[0], step.forwards);
      }
    }
  }
}

// Finds runs of steps that put one value into a cell and add others to it.
void find_sums(EndpointProgram& program) {
  std::size_t in_sums = 0, all = 0;
  for (auto& rounds : program.lanes) {
    for (ProgramRound& round : rounds) {
      all += round.steps.size();
      for (std::size_t first = 0; first < round.steps.size(); ++first) {
        Step& begins = round.steps[first];
        const bool puts = begins.kind == Kind::kReceive || begins.kind == Kind::kCopy;
        if (!puts || begins.target.size() != 1) continue;
        const auto adds = [&](const Step& step) {
          return (step.kind == Kind::kReduce ||
                  (step.kind == Kind::kReceiveReduce && step.source == step.target)) &&
                 step.target == begins.target && step.forwards < 0;
        };
        std::size_t end = first + 1;
        while (end < round.steps.size() && adds(round.steps[end])) ++end;
        if (end == first + 1) continue;
        begins.summands = static_cast<int>(end - first);
        in_sums += end - first;
        first = end - 1;
      }
    }
  }
  program.one_sum = program.lanes.size() == 1 && program.lanes[0].size() == 1 && all == in_sums &&
                    in_sums > 0 && in_sums == static_cast<std::size_t>(program.ranks);
}

void summarise(EndpointProgram& program) {
  const auto weight_of = [&](const Step& step) {
    double weight = 0;
    for (const Cell& cell : step.source) {
      weight += static_cast<double>(program.chunks.at(cell.chunk));
    }
    return weight;
  };
  double all = 0;
  for (std::int64_t c = 0; c < program.chunks.count; ++c) {
    all += static_cast<double>(program.chunks.at(c));
  }
  const auto note = [&](const Step& step) {
    if (step.kind == Kind::kSend && all > 0) {
      program.largest_message = std::max(program.largest_message, weight_of(step) / all);
    }
  };
  for (const auto& lane : program.lanes) {
    for (const ProgramRound& round : lane) {
      std::for_each(round.sends.begin(), round.sends.end(), note);
      std::for_each(round.steps.begin(), round.steps.end(), note);
    }
  }
}

}  // namespace

std::vector<EndpointProgram> make_programs(const Schedule& schedule) {
  std::vector<EndpointProgram> programs = Follower(schedule).run();
  double largest = 0;
  for (EndpointProgram& program : programs) {
    find_forwards(program);
    find_sums(program);
    summarise(program);
    largest = std::max(largest, program.largest_message);
  }
  for (EndpointProgram& program : programs) program.largest_message = largest;  // slices agree
  return programs;
}

EndpointProgram make_program(const Schedule& schedule, int endpoint) {
  return std::move(make_programs(schedule)[static_cast<std::size_t>(endpoint)]);
}

}  // namespace weft::runtime

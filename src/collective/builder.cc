#include "collective/builder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weft::collective {
namespace {

// Group `m` of a circle, moving down by one group an iteration.
Cells group_of(const Circle& c, Buffer buffer, int m) {
  return {.buffer = buffer,
          .base = c.base,
          .first = ((m % c.size) + c.size) % c.size * c.group,
          .advance = -c.group,
          .modulus = c.size * c.group,
          .count = c.group};
}

}  // namespace

Walk to(int endpoint) { return {.base = endpoint}; }

Cells range(Buffer buffer, int first, int count) {
  return {.buffer = buffer, .base = first, .modulus = std::max(count, 1), .count = count};
}

Cells moving(Buffer buffer, int first, int advance, int modulus) {
  return {.buffer = buffer, .first = first, .advance = advance, .modulus = modulus, .count = 1};
}

Op send(Walk peer, Cells source) {
  return {.kind = Kind::kSend, .peer = peer, .source = source, .target = {}};
}
Op receive(Walk peer, Cells target) {
  return {.kind = Kind::kReceive, .peer = peer, .source = {}, .target = target};
}
Op receive_reduce(Walk peer, Cells source, Cells target) {
  return {.kind = Kind::kReceiveReduce, .peer = peer, .source = source, .target = target};
}
Op copy(Cells source, Cells target) {
  return {.kind = Kind::kCopy, .peer = {}, .source = source, .target = target};
}

void idle(std::int64_t count, Rounds& rounds) {
  if (count > 0) rounds.push_back({.repeat = count});
}

Rounds alone(int cells) {
  return {{.ops = {copy(range(Buffer::kInput, 0, cells), range(Buffer::kOutput, 0, cells))}}};
}

Schedule make_schedule(Operation operation, std::string algorithm, int ranks, int chunks,
                       int streams, std::vector<HelperKind> helpers) {
  Schedule schedule;
  schedule.operation = operation;
  schedule.algorithm = std::move(algorithm);
  schedule.ranks = ranks;
  schedule.helpers = std::move(helpers);
  schedule.chunks.count = chunks;
  schedule.whole = static_cast<std::uint64_t>(std::max(chunks, 1));
  Program program;
  program.streams.resize(static_cast<std::size_t>(streams));
  schedule.programs.resize(static_cast<std::size_t>(schedule.endpoints()), program);
  return schedule;
}

void ring_reduce_scatter(const Circle& c, Buffer from, Buffer to_buffer, Rounds& rounds) {
  if (c.size == 1) return;
  const auto step = [&](int i, Buffer sent) {
    return std::vector<Op>{send(to(c.next), group_of(c, sent, c.place - 1 - i)),
                           receive_reduce(to(c.prev), group_of(c, from, c.place - 2 - i),
                                          group_of(c, to_buffer, c.place - 2 - i))};
  };
  rounds.push_back({.repeat = 1, .ops = step(0, from)});
  if (c.size > 2) rounds.push_back({.repeat = c.size - 2, .ops = step(1, to_buffer)});
}

void ring_all_gather(const Circle& c, Buffer buffer, Rounds& rounds) {
  if (c.size == 1) return;
  rounds.push_back({.repeat = c.size - 1,
                    .ops = {send(to(c.next), group_of(c, buffer, c.place)),
                            receive(to(c.prev), group_of(c, buffer, c.place - 1))}});
}

Rounds overlay(const std::vector<Activity>& activities, std::int64_t length) {
  std::vector<std::int64_t> cuts = {0, length};
  for (const Activity& a : activities) {
    CHECK(a.start >= 0 && a.count >= 0 && a.start + a.count <= length);
    cuts.push_back(a.start);
    cuts.push_back(a.start + a.count);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  Rounds rounds;
  const auto shift = [](auto& moves, std::int64_t by) {
    moves.first = static_cast<int>((moves.first + by * moves.advance) % moves.modulus);
  };
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    Round round{.repeat = cuts[k + 1] - cuts[k], .ops = {}};
    for (const Activity& a : activities) {
      if (a.start > cuts[k] || a.start + a.count <= cuts[k]) continue;
      Op op = a.op;
      shift(op.peer, cuts[k] - a.start);
      shift(op.source, cuts[k] - a.start);
      shift(op.target, cuts[k] - a.start);
      round.ops.push_back(op);
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace weft::collective

#include <algorithm>

#include "collective/builder.h"
#include "collective/generators.h"

namespace weft::collective {
namespace {

Circle neighbours(int rank, int ranks) {
  return {
      .size = ranks, .place = rank, .next = (rank + 1) % ranks, .prev = (rank + ranks - 1) % ranks};
}

// Partial sums of the chunks that pass through alternate between two scratch cells; the last sum is
// the rank's own and goes to the output.
Rounds reduce_scatter_rounds(int r, int p) {
  const Circle c = neighbours(r, p);
  const auto input = [&](int first) {
    return moving(Buffer::kInput, ((first % p) + p) % p, -1, p);
  };
  const auto partial = [](int i) { return moving(Buffer::kScratch, i % 2, 1, 2); };
  const Cells own = range(Buffer::kOutput, 0, 1);
  if (p == 1) return alone(1);
  Rounds rounds = {{.ops = {send(to(c.next), input(r - 1)),
                            receive_reduce(to(c.prev), input(r - 2), p == 2 ? own : partial(0))}}};
  if (p > 3) {
    rounds.push_back({.repeat = p - 3,
                      .ops = {send(to(c.next), partial(0)),
                              receive_reduce(to(c.prev), input(r - 3), partial(1))}});
  }
  if (p > 2) {
    rounds.push_back(
        {.ops = {send(to(c.next), partial(p - 3)), receive_reduce(to(c.prev), input(r), own)}});
  }
  return rounds;
}

}  // namespace

Schedule ring_all_reduce(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllReduce, "ring", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    const Circle circle = neighbours(r, p);
    if (p == 1)
      rounds = {{.ops = {copy(range(Buffer::kInput, 0, 1), range(Buffer::kOutput, 0, 1))}}};
    ring_reduce_scatter(circle, Buffer::kInput, Buffer::kOutput, rounds);
    ring_all_gather(circle, Buffer::kOutput, rounds);
  }
  return schedule;
}

Schedule ring_reduce_scatter(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kReduceScatter, "ring", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Program& program = schedule.programs[static_cast<std::size_t>(r)];
    program.scratch.count = std::min(p - 1, 2);
    program.streams[0] = reduce_scatter_rounds(r, p);
  }
  return schedule;
}

Schedule ring_all_gather(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllGather, "ring", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    rounds = {{.ops = {copy(range(Buffer::kInput, 0, 1), range(Buffer::kOutput, r, 1))}}};
    ring_all_gather(neighbours(r, p), Buffer::kOutput, rounds);
  }
  return schedule;
}

}  // namespace weft::collective

#include "collective/builder.h"
#include "collective/generators.h"

namespace weft::collective {
namespace {

int halvings(int ranks) {
  int rounds = 0;
  while ((1 << rounds) < ranks) ++rounds;
  return rounds;
}

// In round k of a broadcast the 2^k ranks that hold the data send it on; a reduction is the same
// backwards. `place` counts from the root.
struct TreePlace {
  int place = 0;
  int ranks = 1;
  int root = 0;

  TreePlace(int rank, int of, int from) : place((rank - from + of) % of), ranks(of), root(from) {}
  int rank_at(int other) const { return (other + root) % ranks; }
};

void down(const TreePlace& me, Cells data, Rounds& rounds) {
  for (int k = 0; k < halvings(me.ranks); ++k) {
    const int reach = 1 << k;
    const int partner = me.place ^ reach;
    if (me.place < reach && partner < me.ranks) {
      rounds.push_back({.ops = {send(to(me.rank_at(partner)), data)}});
    } else if (me.place >= reach && me.place < 2 * reach) {
      rounds.push_back({.ops = {receive(to(me.rank_at(partner)), data)}});
    } else {
      idle(1, rounds);
    }
  }
}

// Ensures: `sum` holds the sum at the root; at other ranks it is used on the way.
void up(const TreePlace& me, Cells sum, Rounds& rounds) {
  Cells held = range(Buffer::kInput, 0, sum.count);
  for (int k = halvings(me.ranks) - 1; k >= 0; --k) {
    const int reach = 1 << k;
    const int partner = me.place ^ reach;
    if (me.place < reach && partner < me.ranks) {
      rounds.push_back({.ops = {receive_reduce(to(me.rank_at(partner)), held, sum)}});
      held = sum;
    } else if (me.place >= reach && me.place < 2 * reach) {
      rounds.push_back({.ops = {send(to(me.rank_at(partner)), held)}});
    } else {
      idle(1, rounds);
    }
  }
}

}  // namespace

Schedule binomial_broadcast(const Request& request) {
  Schedule schedule = make_schedule(Operation::kBroadcast, "binomial", request.ranks, 1);
  schedule.root = request.root;
  schedule.in_place = true;
  for (int r = 0; r < request.ranks; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    if (r == request.root) rounds = alone(1);
    if (r != request.root) idle(1, rounds);
    down(TreePlace(r, request.ranks, request.root), range(Buffer::kOutput, 0, 1), rounds);
  }
  return schedule;
}

Schedule binomial_reduce(const Request& request) {
  Schedule schedule = make_schedule(Operation::kReduce, "binomial", request.ranks, 1);
  schedule.root = request.root;
  schedule.in_place = true;
  for (int r = 0; r < request.ranks; ++r) {
    Program& program = schedule.programs[static_cast<std::size_t>(r)];
    const bool root = r == request.root;
    if (!root) program.scratch.count = 1;
    if (request.ranks == 1) program.streams[0] = alone(1);
    up(TreePlace(r, request.ranks, request.root),
       range(root ? Buffer::kOutput : Buffer::kScratch, 0, 1), program.streams[0]);
  }
  return schedule;
}

Schedule binomial_all_reduce(const Request& request) {
  Schedule schedule = make_schedule(Operation::kAllReduce, "binomial", request.ranks, 1);
  schedule.in_place = true;
  for (int r = 0; r < request.ranks; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    const TreePlace me(r, request.ranks, 0);
    const Cells sum = range(Buffer::kOutput, 0, 1);
    if (request.ranks == 1) rounds = alone(1);
    up(me, sum, rounds);
    down(me, sum, rounds);
  }
  return schedule;
}

}  // namespace weft::collective

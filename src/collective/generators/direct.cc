// Everybody talks to everybody: all-to-all, the two halves of all-reduce, and sparse all-reduce.
#include "collective/builder.h"
#include "collective/generators.h"
#include "collective/pair_weights.h"

namespace weft::collective {
namespace {

// In iteration i rank r sends to r+1+i and receives from r-1-i, so that nobody is sent to by two at
// once. The cells of a buffer that is indexed by peer move along.
Walk ahead(int r, int p, int i) { return {.first = (r + 1 + i) % p, .advance = 1, .modulus = p}; }
Walk behind(int r, int p, int i) {
  return {.first = (r - 1 - i + p) % p, .advance = -1, .modulus = p};
}
Cells of(Buffer buffer, const Walk& peer) {
  return moving(buffer, peer.first, peer.advance, peer.modulus);
}

// p - 1 rounds after which `own` is the sum of chunk r of all inputs.
void scatter_sums(int r, int p, Cells own, double density, Rounds& rounds) {
  const auto step = [&](int i, Cells held) {
    return std::vector<Op>{send(ahead(r, p, i), of(Buffer::kInput, ahead(r, p, i))),
                           receive_reduce(behind(r, p, i), held, own)};
  };
  if (p == 1) rounds = {{.ops = {copy(range(Buffer::kInput, 0, 1), own)}}};
  if (p > 1) {
    rounds.push_back({.density = density, .ops = step(0, range(Buffer::kInput, r, 1))});
  }
  if (p > 2) rounds.push_back({.repeat = p - 2, .density = density, .ops = step(1, own)});
}

// p - 1 rounds: from output cell r everywhere to all cells everywhere.
void gather(int r, int p, Rounds& rounds) {
  if (p == 1) return;
  rounds.push_back({.repeat = p - 1,
                    .ops = {send(ahead(r, p, 0), range(Buffer::kOutput, r, 1)),
                            receive(behind(r, p, 0), of(Buffer::kOutput, behind(r, p, 0)))}});
}

}  // namespace

Schedule direct_all_to_all(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_all_to_all("direct", request);
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    rounds = {{.ops = {copy(range(Buffer::kInput, r, 1), range(Buffer::kOutput, r, 1))}}};
    if (p == 1) continue;
    rounds.push_back({.repeat = p - 1,
                      .ops = {send(ahead(r, p, 0), of(Buffer::kInput, ahead(r, p, 0))),
                              receive(behind(r, p, 0), of(Buffer::kOutput, behind(r, p, 0)))}});
  }
  return schedule;
}

Schedule direct_reduce_scatter(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kReduceScatter, "direct", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    scatter_sums(r, p, range(Buffer::kOutput, 0, 1), 1,
                 schedule.programs[static_cast<std::size_t>(r)].streams[0]);
  }
  return schedule;
}

Schedule direct_all_gather(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllGather, "direct", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    rounds = {{.ops = {copy(range(Buffer::kInput, 0, 1), range(Buffer::kOutput, r, 1))}}};
    gather(r, p, rounds);
  }
  return schedule;
}

// One round: every rank sends all it has to every other and adds up what it gets, in the order of
// the ranks, so that all have the same bits.
Schedule exchange_all_reduce(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllReduce, "exchange", p, 1);
  const Cells in = range(Buffer::kInput, 0, 1), out = range(Buffer::kOutput, 0, 1);
  for (int r = 0; r < p; ++r) {
    std::vector<Op> ops;
    for (int i = 1; i < p; ++i) ops.push_back(send(to((r + i) % p), in));
    for (int s = 0; s < p; ++s) {
      if (s == r) {
        ops.push_back(s == 0 ? copy(in, out)
                             : Op{.kind = Kind::kReduce, .source = in, .target = out});
      } else {
        ops.push_back(s == 0 ? receive(to(s), out) : receive_reduce(to(s), out, out));
      }
    }
    schedule.programs[static_cast<std::size_t>(r)].streams[0] = {{.ops = std::move(ops)}};
  }
  return schedule;
}

Schedule direct_all_reduce(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllReduce, "direct", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    scatter_sums(r, p, range(Buffer::kOutput, r, 1), 1, rounds);
    gather(r, p, rounds);
  }
  return schedule;
}

Schedule sparse_all_reduce(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllReduce, "sparse", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    scatter_sums(r, p, range(Buffer::kOutput, r, 1), request.density, rounds);
    bruck_gather(r, p, request.density, rounds);
  }
  return schedule;
}

}  // namespace weft::collective

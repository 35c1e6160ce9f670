#include <bit>

#include "collective/builder.h"
#include "collective/generators.h"

namespace weft::collective {
namespace {

// Ranks beyond the largest power of two: of the first 2 * extra ranks the even ones hand their data
// to their odd neighbours and wait; the others are numbered 0 .. members-1.
struct Fold {
  int members = 1;
  int extra = 0;

  explicit Fold(int ranks)
      : members(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        extra(ranks - members) {}
  bool waits(int rank) const { return rank < 2 * extra && rank % 2 == 0; }
  bool adopts(int rank) const { return rank < 2 * extra && rank % 2 == 1; }
  int member(int rank) const { return rank < 2 * extra ? rank / 2 : rank - extra; }
  int rank(int member) const { return member < extra ? 2 * member + 1 : member + extra; }
  int halvings() const { return std::countr_zero(static_cast<unsigned>(members)); }
};

// Exchanges halves of ever smaller blocks; member v ends with the sum of chunk v.
void halve(const Fold& fold, int v, Buffer from, Rounds& rounds) {
  for (int half = fold.members / 2; half >= 1; half /= 2) {
    const int keep = v & ~(half - 1);
    const Walk peer = to(fold.rank(v ^ half));
    rounds.push_back({.ops = {send(peer, range(from, keep ^ half, half)),
                              receive_reduce(peer, range(from, keep, half),
                                             range(Buffer::kOutput, keep, half))}});
    from = Buffer::kOutput;
  }
}

// The reverse: from chunk v in member v to all chunks everywhere.
void double_up(const Fold& fold, int v, Rounds& rounds) {
  for (int half = 1; half < fold.members; half *= 2) {
    const int own = v & ~(half - 1);
    const Walk peer = to(fold.rank(v ^ half));
    rounds.push_back({.ops = {send(peer, range(Buffer::kOutput, own, half)),
                              receive(peer, range(Buffer::kOutput, own ^ half, half))}});
  }
}

}  // namespace

Schedule halving_doubling_all_reduce(const Request& request) {
  const int p = request.ranks;
  const Fold fold(p);
  const Cells input = range(Buffer::kInput, 0, fold.members);
  const Cells output = range(Buffer::kOutput, 0, fold.members);
  Schedule schedule = make_schedule(Operation::kAllReduce, "halving-doubling", p, fold.members);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    if (p == 1) rounds = alone(1);
    if (fold.waits(r)) {
      rounds.push_back({.ops = {send(to(r + 1), input)}});
      idle(2 * fold.halvings(), rounds);
      rounds.push_back({.ops = {receive(to(r + 1), output)}});
      continue;
    }
    const bool adopts = fold.adopts(r);
    if (adopts) rounds.push_back({.ops = {receive_reduce(to(r - 1), input, output)}});
    if (!adopts) idle(fold.extra > 0 ? 1 : 0, rounds);
    halve(fold, fold.member(r), adopts ? Buffer::kOutput : Buffer::kInput, rounds);
    double_up(fold, fold.member(r), rounds);
    if (adopts) rounds.push_back({.ops = {send(to(r - 1), output)}});
  }
  return schedule;
}

// Partial sums live in scratch: cell j is chunk j of the half that the rank keeps first.
Schedule halving_reduce_scatter(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kReduceScatter, "halving-doubling", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Program& program = schedule.programs[static_cast<std::size_t>(r)];
    program.scratch.count = p / 2;
    if (p == 1) program.streams[0] = alone(1);
    for (int half = p / 2; half >= 1; half /= 2) {
      const bool first = half == p / 2;
      const Buffer from = first ? Buffer::kInput : Buffer::kScratch;
      const int keep = r & ~(half - 1);
      const int kept_first = r & ~(p / 2 - 1);
      const int shift = first ? 0 : kept_first;
      const Cells sum = half == 1 ? range(Buffer::kOutput, 0, 1)
                                  : range(Buffer::kScratch, keep - kept_first, half);
      program.streams[0].push_back(
          {.ops = {send(to(r ^ half), range(from, (keep ^ half) - shift, half)),
                   receive_reduce(to(r ^ half), range(from, keep - shift, half), sum)}});
    }
  }
  return schedule;
}

Schedule doubling_all_gather(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllGather, "halving-doubling", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    rounds = {{.ops = {copy(range(Buffer::kInput, 0, 1), range(Buffer::kOutput, r, 1))}}};
    double_up(Fold(p), r, rounds);
  }
  return schedule;
}

}  // namespace weft::collective

#include <algorithm>

#include "collective/builder.h"
#include "collective/generators.h"
#include "collective/pair_weights.h"

namespace weft::collective {

// Before round k rank r has the chunks r .. r+2^k-1 and passes them to r-2^k.
void bruck_gather(int r, int p, double density, Rounds& rounds) {
  for (int reach = 1; reach < p; reach *= 2) {
    const auto run = [&](int first) {
      return Cells{.buffer = Buffer::kOutput,
                   .first = first % p,
                   .modulus = p,
                   .count = std::min(reach, p - reach)};
    };
    rounds.push_back({.density = density,
                      .ops = {send(to((r - reach + p) % p), run(r)),
                              receive(to((r + reach) % p), run(r + reach))}});
  }
}

Schedule bruck_all_gather(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllGather, "bruck", p, p);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    rounds = {{.ops = {copy(range(Buffer::kInput, 0, 1), range(Buffer::kOutput, r, 1))}}};
    bruck_gather(r, p, 1, rounds);
  }
  return schedule;
}

// Scratch cell j holds what still has to travel j ranks forward; in the round of 2^k all j with
// that bit move 2^k ranks. They arrive in cells p and up, because they replace what leaves.
Schedule bruck_all_to_all(const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_all_to_all("bruck", request);
  for (int r = 0; r < p; ++r) {
    Program& program = schedule.programs[static_cast<std::size_t>(r)];
    program.scratch = {.count = p + p / 2 + 1, .each = heaviest(schedule)};
    const auto circle = [&](Buffer buffer, int step) {
      return Cells{.buffer = buffer, .first = r, .modulus = p, .count = p, .step = step};
    };
    const Cells waiting = range(Buffer::kScratch, 0, p);
    Rounds& rounds = program.streams[0];
    rounds = {{.ops = {copy(circle(Buffer::kInput, 1), waiting)}}};
    for (int bit = 1; bit < p; bit *= 2) {
      const int full = p / (2 * bit) * bit;
      const int count = full + std::max(p % (2 * bit) - bit, 0);
      const Cells moved{.buffer = Buffer::kScratch,
                        .base = bit,
                        .modulus = p,
                        .count = count,
                        .block = bit,
                        .step = 2 * bit};
      const Cells arrived = range(Buffer::kScratch, p, count);
      rounds.push_back(
          {.ops = {send(to((r + bit) % p), moved), receive(to((r - bit + p) % p), arrived)}});
      rounds.push_back({.ops = {copy(arrived, moved)}});
    }
    rounds.push_back({.ops = {copy(waiting, circle(Buffer::kOutput, -1))}});
  }
  return schedule;
}

// In round k every rank tells the one 2^k further on what it has heard (Hensgen, Finkel and Manber,
// "Two algorithms for barrier synchronization", 1988).
Schedule dissemination_barrier(const Request& request) {
  const Cells nothing = range(Buffer::kOutput, 0, 0);
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kBarrier, "dissemination", p, 0);
  for (int r = 0; r < p; ++r) {
    Rounds& rounds = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    for (int reach = 1; reach < p; reach *= 2) {
      rounds.push_back(
          {.ops = {send(to((r + reach) % p), nothing), receive(to((r - reach + p) % p), nothing)}});
    }
  }
  return schedule;
}

}  // namespace weft::collective

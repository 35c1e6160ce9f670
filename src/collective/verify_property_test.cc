// Random damage: whatever verify() still accepts gives the right numbers on the plain executor.
// WEFT_SEED=N tries one seed; WEFT_SOAK=1 tries many more.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "collective/reference_testing.h"
#include "collective/requests_testing.h"
#include "collective/verify.h"

namespace weft::collective {
namespace {

std::size_t pick(Random& random, std::size_t size) {
  return static_cast<std::size_t>(random.below(size));
}

void damage_cells(Random& random, Cells& cells) {
  const int by = random.chance(0.5) ? 1 : -1;
  int* const fields[] = {&cells.base,  &cells.first, &cells.advance, &cells.modulus,
                         &cells.count, &cells.step,  &cells.block};
  const std::size_t which = pick(random, 8);
  if (which == 7) cells.buffer = static_cast<Buffer>(random.below(3));
  if (which < 7) *fields[which] += by;
}

void damage_op(Random& random, Op& op, int endpoints) {
  switch (random.below(5)) {
    case 0:
      op.peer.base = static_cast<int>(random.below(static_cast<std::uint64_t>(endpoints)));
      break;
    case 1:
      op.kind = static_cast<Kind>(random.below(5));
      break;
    case 2:
      op.streamed = !op.streamed;
      break;
    case 3:
      damage_cells(random, op.source);
      break;
    default:
      damage_cells(random, op.target);
  }
}

// One change to one endpoint's list.
void damage(Random& random, Schedule& schedule) {
  Program& program = schedule.programs[pick(random, schedule.programs.size())];
  auto& rounds = program.streams[pick(random, program.streams.size())];
  if (rounds.empty()) return;
  Round& round = rounds[pick(random, rounds.size())];
  switch (random.below(8)) {
    case 0:
      round.repeat += random.chance(0.5) ? 1 : -1;
      break;
    case 1:
      std::swap(round, rounds[pick(random, rounds.size())]);
      break;
    case 2:
      schedule.lockstep = false;
      schedule.credits = static_cast<int>(random.below(3));
      break;
    case 3:
      if (!round.ops.empty()) round.ops.erase(round.ops.begin());
      break;
    case 4:
      if (!round.ops.empty()) std::swap(round.ops.front(), round.ops.back());
      break;
    default:
      if (!round.ops.empty()) {
        damage_op(random, round.ops[pick(random, round.ops.size())], schedule.endpoints());
      }
  }
}

TEST(VerifyProperty, WhatIsAcceptedIsRight) {
  const char* const one = std::getenv("WEFT_SEED");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 0;
  const std::uint64_t seeds =
      one != nullptr ? 1 : (std::getenv("WEFT_SOAK") != nullptr ? 1'000'000 : 20'000);
  int accepted = 0;
  int refused = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    Random random(seed);
    const Algorithm& algorithm = algorithms()[pick(random, algorithms().size())];
    const auto requests = requests_for(algorithm, 2 + static_cast<int>(random.below(5)));
    if (requests.empty()) continue;
    Schedule schedule = algorithm.make(requests[pick(random, requests.size())]);
    for (std::uint64_t times = 1 + random.below(2); times > 0; --times) damage(random, schedule);
    if (!verify(schedule, {.max_work = 1 << 20, .max_cells = 1 << 20}).ok()) {
      ++refused;
      continue;
    }
    ++accepted;
    for (const bool in_place : {false, true}) {
      if (in_place && !schedule.in_place) continue;
      auto memory = make_memory(schedule);
      ASSERT_TRUE(execute(schedule, memory, in_place)) << algorithm.name << ", WEFT_SEED=" << seed;
      ASSERT_EQ(compare_outputs(schedule, memory), "") << algorithm.name << ", WEFT_SEED=" << seed;
    }
  }
  if (one != nullptr) return;
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace weft::collective

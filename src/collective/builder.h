// What generators are made of: short names for operations, and the two shapes that recur, circles
// and pipelines.
#pragma once

#include <string>
#include <vector>

#include "collective/schedule.h"

namespace weft::collective {

using Rounds = std::vector<Round>;

// Always the same endpoint.
Walk to(int endpoint);
// `count` cells from `first` on, the same in every iteration.
Cells range(Buffer buffer, int first, int count);
// One cell, which starts at `first` and moves by `advance` on a circle of `modulus` cells.
Cells moving(Buffer buffer, int first, int advance, int modulus);

Op send(Walk peer, Cells source);
Op receive(Walk peer, Cells target);
Op receive_reduce(Walk peer, Cells source, Cells target);
Op copy(Cells source, Cells target);

// Nothing to do in `count` rounds; appended only when there are any.
void idle(std::int64_t count, Rounds& rounds);

// The operations by which a rank on its own has its result: all input cells are copied.
Rounds alone(int cells);

// A schedule with `chunks` equal chunks and one empty stream list per endpoint and stream.
Schedule make_schedule(Operation operation, std::string algorithm, int ranks, int chunks,
                       int streams = 1, std::vector<HelperKind> helpers = {});

// One member of a ring of endpoints. Group m of the data, which member m ends up owning, is the
// `group` cells from `base + m * group` on.
struct Circle {
  int size = 1;
  int place = 0;  // among the members
  int next = 0;   // endpoints
  int prev = 0;
  int base = 0;
  int group = 1;
};

// size - 1 rounds, after which `to` holds the sum of group `place` over the members. What is added
// is read from `from`; partial sums go through `to`, which may be the same buffer.
void ring_reduce_scatter(const Circle& circle, Buffer from, Buffer to, Rounds& rounds);
// size - 1 rounds: from group `place` of `buffer` in each member to all groups in all members.
void ring_all_gather(const Circle& circle, Buffer buffer, Rounds& rounds);

// An operation that is done once in each of `count` rounds from round `start` on.
struct Activity {
  std::int64_t start = 0;
  std::int64_t count = 0;
  Op op;
};
// Rounds 0 .. length-1 in which each activity takes place at its time; in order of `activities`
// inside a round.  Requires: each lies within the length.
Rounds overlay(const std::vector<Activity>& activities, std::int64_t length);

}  // namespace weft::collective

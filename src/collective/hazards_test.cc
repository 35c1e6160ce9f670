// Planted faults in cells, and in what runs at the same time.
#include "collective/hazards.h"

#include <gtest/gtest.h>

#include "collective/faults_testing.h"

namespace weft::collective {
namespace {

TEST(Hazards, FindsWrongCells) {
  expect_found({
      {"out-of-range chunk",
       ring4,
       [](Schedule& s) { op(s, 0, 0, 1).target.base = 4; },
       {"rank 0, stream 0, round 0: operation 1: chunk or cell 6 of the output does not exist"}},
      {"a chunk that runs out of range in a later iteration",
       gather4,
       [](Schedule& s) { op(s, 0, 1, 1).target = moving(kOut, 3, 1, 7); },
       {"rank 0, stream 0, round 2: operation 1: chunk or cell 4 of the output does not exist"}},
      {"negative cell",
       ring4,
       [](Schedule& s) { op(s, 0, 0, 1).target.base = -3; },
       {"rank 0, stream 0, round 0: operation 1: chunk or cell -1 of the output"}},
      {"more scratch than declared",
       ring_scatter4,
       [](Schedule& s) { s.programs[1].scratch.count = 1; },
       {"rank 1, stream 0, round 1: operation 1: chunk or cell 1 of the scratch does not exist"}},
      {"read of unwritten scratch",
       ring_scatter4,
       [](Schedule& s) { op(s, 1, 1, 0).source.first = 1; },
       {"rank 1, stream 0, round 1: ", "scratch cell 1"}},
      {"read of unwritten output",
       ring4,
       [](Schedule& s) { op(s, 2, 0, 1).source.buffer = kOut; },
       {"rank 2, stream 0, round 0: reads output cell 0 (chunk 0) before anything was written"}},
      {"wrong weight: a chunk heavier than its scratch cell",
       pairs4,
       [](Schedule& s) { s.chunks.list[1] = 4; },
       {"rank 1, stream 0, round 1: chunk 1: weighs 4, but scratch cell 0 is for a weight of 3"}},
      {"wrong weight: a chunk in an output cell for a lighter one",
       gather4,
       [](Schedule& s) {
         s.chunks.list = {1, 1, 2, 1};
         op(s, 0, 1, 1).target = range(kOut, 1, 1);
       },
       {"rank 0, stream 0, round 2: chunk 2: weighs 2, but output cell 1 is for a weight of 1"}},
  });
}

TEST(Hazards, FindsRaces) {
  expect_found({
      {"two receives into one cell",
       gather4,
       [](Schedule& s) { rounds(s, 0)[1].ops.push_back(op(s, 0, 1, 1)); },
       {"rank 0, stream 0, round 1: chunk 3: race: operation 1 (receive) and operation 2 (receive) "
        "both write it"}},
      {"a send of what is being received",
       ring4,
       [](Schedule& s) { op(s, 1, 2, 0).source = op(s, 1, 2, 1).target; },
       {"rank 1, stream 0, round 3: chunk 0: race: operation 0 (send) reads it while"}},
      {"a copy of what is being received",
       chain4,
       [](Schedule& s) {
         rounds(s, 3)[1].ops.push_back(copy(range(kOut, 0, 1), range(kOut, 2, 1)));
       },
       {"rank 3, stream 0, round 2: chunk 0: race: operation 1 (copy) reads it while operation 0"}},
      {"a switch that forwards without streaming",
       switch4,
       [](Schedule& s) { op(s, 4, 0, 5).streamed = false; },
       {"switch 0, stream 0, round 0: scratch cell 0: race: operation 5 (send) reads it while"}},
      {"a switch that forwards before it has anything",
       switch4,
       [](Schedule& s) { std::swap(op(s, 4, 0, 3), op(s, 4, 0, 4)); },
       {"switch 0, stream 0, round 0: scratch cell 0: operation 3 (send) forwards it but is listed "
        "before operation 4"}},
      {"one operation that writes a cell twice",
       pairs4,
       [](Schedule& s) { op(s, 0, 1, 1).target.step = 0; },
       {"rank 0, stream 0, round 1: scratch cell 2: operation 1 (receive) writes it twice"}},
      {"two streams that write one cell",
       two_rings4,
       [](Schedule& s) {
         for (Round& round : rounds(s, 0, 1)) {
           for (Op& o : round.ops) o.target.base = 0;
         }
       },
       {"rank 0, stream 1, round ", "chunk "}},
      {"a stream that reads what another writes",
       two_rings4,
       [](Schedule& s) { op(s, 0, 1, 0, 1).source.base = 0; },
       {"rank 0, stream 1, round 1: chunk "}},
  });
}

TEST(Hazards, FindsWhatIsNotInPlace) {
  expect_found({
      {"declared in place, but sends an input it has overwritten",
       switch4,
       [](Schedule& s) { s.in_place = true; },
       {"rank 0, stream 0, round 0: chunk 0: race: operation 0 (send) reads it while"}},
      {"declared in place, but reads an overwritten input later",
       ring4,
       [](Schedule& s) { op(s, 0, 1, 0).source.buffer = kIn; },
       {"rank 0, stream 0, round 1: chunk 2: reads the input, which the output overwrote in "
        "round 0"}},
      {"declared in place, but another stream reads the input",
       two_rings4,
       [](Schedule& s) {
         rounds(s, 0, 1).insert(rounds(s, 0, 1).begin(), Round{.ops = {}});
         s.programs[0].scratch.count = 1;
         rounds(s, 0, 1)[0].ops = {copy(range(kIn, 2, 1), range(kTmp, 0, 1))};
         for (int r = 1; r < 4; ++r) rounds(s, r, 1).insert(rounds(s, r, 1).begin(), Round{});
       },
       {"rank 0, stream ", "chunk 2: ", "not in place"}},
  });
}

}  // namespace
}  // namespace weft::collective

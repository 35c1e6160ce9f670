// Planted faults of form.
#include "collective/verify.h"

#include <gtest/gtest.h>

#include "collective/faults_testing.h"

namespace weft::collective {
namespace {

TEST(Shape, FindsWrongShapes) {
  expect_found({
      {"a target in the input",
       ring4,
       [](Schedule& s) { op(s, 1, 0, 1).target.buffer = kIn; },
       {"rank 1, stream 0, entry 0: operation 1: the target is the input"}},
      {"source and target of different lengths",
       ring4,
       [](Schedule& s) { op(s, 1, 0, 1).target.count = 2; },
       {"rank 1, stream 0, entry 0: operation 1: the source has 1 cells and the target 2"}},
      {"a streamed receive",
       switch4,
       [](Schedule& s) { op(s, 4, 0, 1).streamed = true; },
       {"switch 0, stream 0, entry 0: operation 1: a receive-reduce is marked streamed"}},
      {"a circle of nothing",
       ring4,
       [](Schedule& s) { op(s, 1, 0, 0).source.modulus = 0; },
       {"rank 1, stream 0, entry 0: operation 0: source modulus is 0"}},
      {"a peer beyond the whole numbers",
       ring4,
       [](Schedule& s) { op(s, 1, 0, 0).peer = {.stride = 1 << 30, .modulus = 1 << 30}; },
       {"rank 1, stream 0, entry 0: operation 0: peer runs out of the whole numbers"}},
      {"a program too few",
       ring4,
       [](Schedule& s) { s.programs.pop_back(); },
       {"there are 3 programs for 4 endpoints"}},
      {"a stream too many",
       ring4,
       [](Schedule& s) { s.programs[2].streams.emplace_back(); },
       {"rank 2 has 2 streams, rank 0 has 1"}},
      {"negative repeat",
       ring4,
       [](Schedule& s) { rounds(s, 3)[1].repeat = -1; },
       {"rank 3, stream 0, entry 1: repeat is -1"}},
      {"a density above 1",
       ring4,
       [](Schedule& s) { rounds(s, 3)[1].density = 1.5; },
       {"rank 3, stream 0, entry 1: density is 1.5"}},
      {"shares that are not even",
       gather4,
       [](Schedule& s) { s.chunks.count = 6; },
       {"chunks count is 6; for all-gather it must be a multiple of the 4 ranks"}},
      {"weights for other chunks",
       pairs4,
       [](Schedule& s) { s.chunks.list.pop_back(); },
       {"chunks has 15 weights for 16 cells"}},
      {"a root that is no rank", chain4, [](Schedule& s) { s.root = 4; }, {"root is 4"}},
      {"an all-to-all of too few chunks",
       pairs4,
       [](Schedule& s) { s.chunks = {.count = 4}; },
       {"chunks count is 4; an all-to-all of 4 ranks has 16"}},
      {"a barrier with data",
       barrier5,
       [](Schedule& s) { s.chunks.count = 1; },
       {"chunks count is 1; a barrier has none"}},
  });
}

}  // namespace
}  // namespace weft::collective

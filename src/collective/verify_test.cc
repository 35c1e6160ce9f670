// Planted faults: each takes a schedule that verifies and breaks one thing.
#include "collective/verify.h"

#include <gtest/gtest.h>

#include "collective/faults_testing.h"

namespace weft::collective {
namespace {

TEST(Verify, FindsWrongContributions) {
  expect_found({
      {"lost: a rank passes on what it got without adding its own",
       ring4,
       [](Schedule& s) { op(s, 2, 0, 1).kind = Kind::kReceive; },
       {"rank 0, stream 0, round 2: chunk 0 ends wrong", "contribution of rank 2 is lost"}},
      {"doubled: a rank adds where it should take",
       ring4,
       [](Schedule& s) {
         Op& o = op(s, 1, 2, 1);
         o.kind = Kind::kReceiveReduce;
         o.source = o.target;
         o.source.buffer = kIn;
       },
       {"rank 1, stream 0, round 3: chunk 0: the contribution of rank 1 is added a second time"}},
      {"swapped: a rank sends another chunk than the next one adds",
       ring4,
       [](Schedule& s) { op(s, 1, 0, 0).source.first = 1; },
       {"rank 2, stream 0, round 0: chunk 0: chunk 1 is added to it"}},
      {"swapped: a chunk is put in the place of another",
       gather4,
       [](Schedule& s) { op(s, 3, 1, 1).target = moving(kOut, 0, 1, 4); },
       {"rank 3, stream 0, round 1: chunk 0 ends wrong: its place holds chunk 2"}},
      {"swapped: two ranks change places in the middle",
       ring4,
       [](Schedule& s) { std::swap(rounds(s, 1)[1], rounds(s, 2)[1]); },
       {"stream 0, round 1", "has itself as peer", "output cell"}},
      {"never written: a rank leaves out what it has itself",
       gather4,
       [](Schedule& s) { rounds(s, 2)[0].ops.clear(); },
       {"rank 2, stream 0, round 1: reads output cell 2 (chunk 2) before"}},
      {"never written: a rank gets everything but its own",
       pairs4,
       [](Schedule& s) { op(s, 0, 2, 0).target.count = op(s, 0, 2, 0).source.count = 1; },
       {"rank 0, at the end of all rounds: chunk 4 was never written"}},
  });
}

TEST(Verify, FindsAnotherOperation) {
  expect_found({
      {"wrong root: the schedule of one root is declared for another",
       tree_reduce4,
       [](Schedule& s) { s.root = 1; },
       {"rank 0, stream 0, round ", "chunk or cell 0 of the output does not exist"}},
      {"wrong root: a broadcast from a rank that has nothing",
       chain4,
       [](Schedule& s) { s.root = 3; },
       {"rank 0, stream 0, round 0", "chunk or cell 0 of the input does not exist"}},
      {"a sum in an operation that has none",
       chain4,
       [](Schedule& s) {
         rounds(s, 3).push_back({.ops = {{.kind = Kind::kReduce,
                                          .source = range(kOut, 1, 1),
                                          .target = range(kOut, 1, 1)}}});
       },
       {"rank 3, stream 0, round 5: chunk 1: the contribution of rank 0 is added a second time"}},
      {"another's contribution: two chunks of one rank exchanged in scratch",
       pairs4,
       [](Schedule& s) { std::swap(op(s, 2, 1, 0).source, op(s, 2, 0, 0).source); },
       {"rank 0, stream 0, round 3: chunk 8 ends wrong: its place holds chunk 9"}},
      {"a barrier that one rank passes unheard",
       barrier5,
       [](Schedule& s) {
         for (int r = 0; r < 5; ++r) rounds(s, r).pop_back();
       },
       {"rank 0, at the end of all rounds: it passes the barrier without having heard of rank 1"}},
  });
}

TEST(Verify, FindsOperationsThatNeverMeet) {
  expect_found({
      {"missing receive",
       chain4,
       [](Schedule& s) { rounds(s, 3).back().repeat = 2; },
       {"rank 2, stream 0, round 4: the send to rank 3 of chunk 2 meets nothing"}},
      {"missing send",
       ring4,
       [](Schedule& s) { rounds(s, 2)[2].ops.erase(rounds(s, 2)[2].ops.begin()); },
       {"rank 3, stream 0, round 3: the receive from rank 2 of chunk 2 meets nothing"}},
      {"extra send",
       gather4,
       [](Schedule& s) { rounds(s, 0).push_back({.ops = {send(to(1), range(kOut, 2, 1))}}); },
       {"rank 0, stream 0, round 4: the send to rank 1 of chunk 2 meets nothing"}},
      {"cyclic: both receive before they send",
       swap2,
       [](Schedule& s) {
         s.lockstep = false;
         for (Program& program : s.programs) {
           const std::vector<Op> ops = program.streams[0][1].ops;
           program.streams[0][1].ops = {ops[1]};
           program.streams[0].push_back({.ops = {ops[0]}});
         }
       },
       {"rank 0, stream 0, round 1: receive from rank 1 of chunk 1, which waits for rank 1",
        "deadlock with 0 credits"}},
      {"cyclic around a ring of four",
       ring4,
       [](Schedule& s) {
         s.lockstep = false;
         for (Program& program : s.programs) {
           const std::vector<Op> ops = program.streams[0][0].ops;
           program.streams[0][0].ops = {ops[0]};
           program.streams[0].insert(program.streams[0].begin() + 1, {.ops = {ops[1]}});
         }
       },
       {"rank 0, stream 0, round 0: send to rank 1 of chunk 3, which waits for rank 1",
        "closes a circle"}},
      {"insufficient declared buffers",
       buffered_swap2,
       [](Schedule& s) { s.credits = 0; },
       {"rank 0, stream 0, round 1: send to rank 1 of chunk 0", "deadlock with 0 credits"}},
      {"one buffer where two are needed",
       buffered_swap2,
       [](Schedule& s) {
         for (int r = 0; r < 2; ++r) {
           auto& list = rounds(s, r);
           list.insert(list.begin() + 1, list[1]);
           list.push_back(list.back());
         }
       },
       {"rank 0, stream 0, round 2: send to rank 1 of chunk 0", "deadlock with 1 credits"}},
  });
}

TEST(Verify, FindsMessagesThatDoNotFit) {
  expect_found({
      {"declared lockstep, but a round later",
       gather4,
       [](Schedule& s) { rounds(s, 1).insert(rounds(s, 1).begin(), Round{}); },
       {"rank 1, stream 0, round 2: chunk 0: ", "rank 0 in its round 1 sent",
        "which is not lockstep"}},
      {"mismatched lengths",
       chain4,
       [](Schedule& s) { rounds(s, 1)[0].ops[0].target = range(kOut, 0, 2); },
       {"rank 1, stream 0, round 0: chunk 0: operation 0 receives 2 cells, but rank 0 in its "
        "round 0 sends 1"}},
      {"densities differ",
       gather4,
       [](Schedule& s) { rounds(s, 1)[1].density = 0.5; },
       {"round 1: chunk ", "density 0.5"}},
      {"self-send",
       ring4,
       [](Schedule& s) { op(s, 3, 0, 0).peer = to(3); },
       {"rank 3, stream 0, round 0: operation 0: send of input cell 2 has itself as peer"}},
      {"a peer that does not exist",
       ring4,
       [](Schedule& s) { op(s, 3, 0, 0).peer = to(4); },
       {"rank 3, stream 0, round 0: operation 0: send of input cell 2 has peer 4; there are 4"}},
      {"sent to the wrong rank: the wrong one waits for it",
       gather4,
       [](Schedule& s) { op(s, 0, 1, 0).peer = to(1); },
       {"rank 0, stream 0, round 2: ", "rank 1"}},
  });
}

TEST(Verify, FindsFaultsBeyond64Ranks) {
  for (const bool exact : {false, true}) {
    Schedule lost = made("ring", {.ranks = 100});
    op(lost, 70, 0, 1).kind = Kind::kReceive;
    const Status status = verify(lost, {.exact = exact});
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().what.find("rank 0, stream 0, round"), std::string::npos);
    EXPECT_NE(status.error().what.find("chunk 68 ends wrong"), std::string::npos)
        << status.error().what;
  }
}

TEST(Verify, RefusesWhatWouldTakeTooLong) {
  const Status status = verify(ring4(), {.max_work = 10});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kUnsupported);
  Schedule endless = ring4();
  rounds(endless, 0)[1].repeat = kMaxRepeat;
  EXPECT_EQ(work_of(endless) > kMaxRepeat, true);
}

TEST(Verify, AcceptsOneLevelAndTwoLevelSwitches) {
  for (const int per_leaf : {1, 2, 3}) {
    EXPECT_TRUE(verify(made("in-network", {.ranks = 7, .per_node = per_leaf})).ok());
  }
}

}  // namespace
}  // namespace weft::collective

// Planted faults: each takes a schedule that verifies and breaks one thing.
#include "collective/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "collective/algorithms.h"
#include "collective/builder.h"

namespace weft::collective {
namespace {

constexpr Buffer kIn = Buffer::kInput;
constexpr Buffer kOut = Buffer::kOutput;
constexpr Buffer kTmp = Buffer::kScratch;

Schedule made(const char* name, Request request) { return *generate(name, request); }
Schedule ring4() { return made("ring", {.ranks = 4}); }
Schedule ring_scatter4() {
  return made("ring", {.operation = Operation::kReduceScatter, .ranks = 4});
}
Schedule gather4() { return made("direct", {.operation = Operation::kAllGather, .ranks = 4}); }
Schedule chain4() {
  return made("chain", {.operation = Operation::kBroadcast, .ranks = 4, .chunks = 3});
}
Schedule tree_reduce4() {
  return made("tree", {.operation = Operation::kReduce, .ranks = 4, .chunks = 3});
}
Schedule barrier5() {
  return made("dissemination", {.operation = Operation::kBarrier, .ranks = 5});
}
Schedule switch4() { return made("in-network", {.ranks = 4}); }
Schedule pairs4() {
  return made("hierarchical", {.operation = Operation::kAllToAll,
                               .ranks = 4,
                               .per_node = 2,
                               .pair_weights = std::vector<std::uint64_t>(16, 3)});
}
// Two ranks that swap their halves of an all-gather in one round, after copying their own.
Schedule swap2() { return made("direct", {.operation = Operation::kAllGather, .ranks = 2}); }
// The same, but both send before they receive, which takes a buffer.
Schedule buffered_swap2() {
  Schedule s = swap2();
  s.lockstep = false;
  s.credits = 1;
  for (Program& program : s.programs) {
    const std::vector<Op> ops = program.streams[0][1].ops;
    program.streams[0][1].ops = {ops[0]};
    program.streams[0].push_back({.ops = {ops[1]}});
  }
  return s;
}
Schedule two_rings4() { return made("bidirectional-ring", {.ranks = 4}); }

std::vector<Round>& rounds(Schedule& s, int endpoint, int stream = 0) {
  return s.programs[static_cast<std::size_t>(endpoint)].streams[static_cast<std::size_t>(stream)];
}
Op& op(Schedule& s, int endpoint, std::size_t entry, std::size_t number, int stream = 0) {
  return rounds(s, endpoint, stream)[entry].ops[number];
}

struct Fault {
  const char* sentence;
  std::function<Schedule()> make;
  std::function<void(Schedule&)> plant;
  std::vector<std::string> want;
};

void expect_found(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    Schedule schedule = fault.make();
    const Status sound = verify(schedule);
    ASSERT_TRUE(sound.ok()) << fault.sentence << ": " << sound.error().text();
    fault.plant(schedule);
    const Status status = verify(schedule);
    ASSERT_FALSE(status.ok()) << fault.sentence;
    for (const std::string& want : fault.want) {
      EXPECT_NE(status.error().what.find(want), std::string::npos)
          << fault.sentence << ": " << status.error().what << "\n  does not say: " << want;
    }
  }
}

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

TEST(Verify, FindsWrongCells) {
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

TEST(Verify, FindsRaces) {
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

TEST(Verify, FindsWrongShapes) {
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

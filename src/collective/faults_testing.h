// Sound schedules, and what it takes to break them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "collective/algorithms.h"
#include "collective/builder.h"
#include "collective/verify.h"

namespace weft::collective {

inline constexpr Buffer kIn = Buffer::kInput;
inline constexpr Buffer kOut = Buffer::kOutput;
inline constexpr Buffer kTmp = Buffer::kScratch;

inline Schedule made(const char* name, Request request) { return *generate(name, request); }
inline Schedule ring4() { return made("ring", {.ranks = 4}); }
inline Schedule ring_scatter4() {
  return made("ring", {.operation = Operation::kReduceScatter, .ranks = 4});
}
inline Schedule gather4() {
  return made("direct", {.operation = Operation::kAllGather, .ranks = 4});
}
inline Schedule chain4() {
  return made("chain", {.operation = Operation::kBroadcast, .ranks = 4, .chunks = 3});
}
inline Schedule tree_reduce4() {
  return made("tree", {.operation = Operation::kReduce, .ranks = 4, .chunks = 3});
}
inline Schedule barrier5() {
  return made("dissemination", {.operation = Operation::kBarrier, .ranks = 5});
}
inline Schedule switch4() { return made("in-network", {.ranks = 4}); }
inline Schedule pairs4() {
  return made("hierarchical", {.operation = Operation::kAllToAll,
                               .ranks = 4,
                               .per_node = 2,
                               .pair_weights = std::vector<std::uint64_t>(16, 3)});
}
// Two ranks that swap their halves of an all-gather in one round, after copying their own.
inline Schedule swap2() { return made("direct", {.operation = Operation::kAllGather, .ranks = 2}); }
// The same, but both send before they receive, which takes a buffer.
inline Schedule buffered_swap2() {
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
inline Schedule two_rings4() { return made("bidirectional-ring", {.ranks = 4}); }

inline std::vector<Round>& rounds(Schedule& s, int endpoint, int stream = 0) {
  return s.programs[static_cast<std::size_t>(endpoint)].streams[static_cast<std::size_t>(stream)];
}
inline Op& op(Schedule& s, int endpoint, std::size_t entry, std::size_t number, int stream = 0) {
  return rounds(s, endpoint, stream)[entry].ops[number];
}

// One way to break a schedule that verifies.
struct Fault {
  const char* sentence;
  std::function<Schedule()> make;
  std::function<void(Schedule&)> plant;
  std::vector<std::string> want;
};

// Plants each fault in a sound schedule and expects the words in what verify() says of it.
inline void expect_found(const std::vector<Fault>& faults) {
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

}  // namespace weft::collective

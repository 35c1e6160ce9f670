// What users and networks do wrong. Every rank gets an error within its deadline: never a hang,
// never a wrong sum.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/group_testing.h"

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kMostValues = 200'000;

class GroupMisuse : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(All, GroupMisuse, testing::ValuesIn(ways()),
                         [](const auto& p) { return name_of(p.param); });

struct Buffers {
  std::vector<float> in = std::vector<float>(4 * kMostValues, 1),
                     out = std::vector<float>(4 * kMostValues);
};
using Action = std::function<Group::WorkPtr(Group&, Buffers&)>;
struct Misuse {
  const char* sentence;
  Action most, odd;  // what all ranks but one call, and what that one calls
  // Only pairs know their amounts: who sent what it said and got what it expects may end well.
  bool some_end_well = false;
};

Action reduce_all(std::uint64_t count, DataType type, ReduceOp op) {
  return [=](Group& g, Buffers& b) { return g.all_reduce(b.out.data(), count, type, op); };
}
Action broadcast(std::uint64_t count, int root) {
  return [=](Group& g, Buffers& b) {
    return g.broadcast(b.out.data(), count, DataType::kFloat32, root);
  };
}
Action gather(std::uint64_t count) {
  return [=](Group& g, Buffers& b) {
    return g.all_gather(b.in.data(), b.out.data(), count, DataType::kFloat32);
  };
}
Action exchange(std::vector<std::uint64_t> sends, std::vector<std::uint64_t> receives) {
  return [=](Group& g, Buffers& b) {
    return g.all_to_all_v(b.in.data(), sends, b.out.data(), receives, DataType::kFloat32);
  };
}
const Action kBarrier = [](Group& g, Buffers&) { return g.barrier(); };

const Misuse kMisuses[] = {
    {"small counts differ", reduce_all(10, kF32, ReduceOp::kSum),
     reduce_all(11, kF32, ReduceOp::kSum)},
    {"counts differ so far that another schedule is chosen", reduce_all(10, kF32, ReduceOp::kSum),
     reduce_all(kMostValues, kF32, ReduceOp::kSum)},
    {"one rank has a small vector, the others a large one",
     reduce_all(kMostValues, kF32, ReduceOp::kSum), reduce_all(10, kF32, ReduceOp::kSum)},
    {"one rank has nothing", reduce_all(1000, kF32, ReduceOp::kSum),
     reduce_all(0, kF32, ReduceOp::kSum)},
    {"types of the same size differ", reduce_all(1000, kF32, ReduceOp::kSum),
     reduce_all(1000, DataType::kInt32, ReduceOp::kSum)},
    {"types of another size differ", reduce_all(1000, kF32, ReduceOp::kSum),
     reduce_all(500, DataType::kFloat64, ReduceOp::kSum)},
    {"reductions differ", reduce_all(1000, kF32, ReduceOp::kSum),
     reduce_all(1000, kF32, ReduceOp::kMax)},
    {"sum and average differ", reduce_all(kMostValues, kF32, ReduceOp::kSum),
     reduce_all(kMostValues, kF32, ReduceOp::kAverage)},
    {"roots differ", broadcast(1000, 0), broadcast(1000, 1)},
    {"a root that does not exist", broadcast(1000, 0), broadcast(1000, 9)},
    {"a barrier meets a sum", kBarrier, reduce_all(1000, kF32, ReduceOp::kSum)},
    {"a sum meets a barrier", reduce_all(1000, kF32, ReduceOp::kSum), kBarrier},
    {"a gather meets a broadcast", gather(1000), broadcast(1000, 0)},
    {"gathered parts differ", gather(1000), gather(1001)},
    {"amounts differ", exchange({5, 5, 5}, {5, 5, 5}), exchange({5, 6, 5}, {6, 5, 5}), true},
    {"too few amounts", exchange({5, 5, 5}, {5, 5, 5}), exchange({5, 5}, {5, 5})},
};

TEST_P(GroupMisuse, EveryRankGetsAnError) {
  for (const Misuse& misuse : kMisuses) {
    for (const int odd : {0, 2}) {
      Ranks world(3, GetParam());
      world.base.deadline_s = 0.5 * time_factor();
      world.start();
      world.run([&](int rank, Group& group) {
        Buffers buffers;
        const double begin = steady_now();
        const Status status = (rank == odd ? misuse.odd : misuse.most)(group, buffers)->wait();
        EXPECT_TRUE(!status.ok() || misuse.some_end_well)
            << misuse.sentence << ": rank " << rank << ", odd is " << odd;
        EXPECT_LT(steady_now() - begin, 1.5 * world.base.deadline_s);
        // What broke the group stands in the way of all that follows.
        EXPECT_FALSE(group.barrier()->wait().ok());
      });
    }
  }
}

TEST_P(GroupMisuse, AMismatchIsToldInWords) {
  Ranks world(3, GetParam());
  world.start();
  world.run([&](int rank, Group& group) {
    std::vector<float> data(1000, 1);
    const std::size_t count = rank == 1 ? 999 : 1000;
    const Status status = group.all_reduce(data.data(), count, kF32, ReduceOp::kSum)->wait();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().what,
                AllOf(HasSubstr("rank 1 called all-reduce of 999 float32"), HasSubstr("1000")));
    EXPECT_NE(group.broken(), "");
  });
}

TEST_P(GroupMisuse, ARankThatNeverCallsIsNamedAtTheDeadline) {
  for (const int ranks : {2, 4, 5}) {
    for (const std::uint64_t count : {std::uint64_t{10}, std::uint64_t{kMostValues}}) {
      Ranks world(ranks, GetParam());
      world.base.deadline_s = 0.2 * time_factor();
      world.start();
      const int absent = ranks / 2;
      world.run([&](int rank, Group& group) {
        if (rank == absent) return;
        std::vector<float> data(count, 1);
        const double begin = steady_now();
        const Status status = group.all_reduce(data.data(), count, kF32, ReduceOp::kSum)->wait();
        EXPECT_LT(steady_now() - begin, 2 * world.base.deadline_s);
        ASSERT_FALSE(status.ok());
        EXPECT_THAT(status.error().what, HasSubstr(fmt::format("rank {}", absent)))
            << ranks << " ranks, " << count;
      });
      const double until = steady_now() + time_factor();
      while (world.group(absent)->broken().empty() && steady_now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_NE(world.group(absent)->broken(), "");
    }
  }
}

TEST_P(GroupMisuse, CancellingOnOneRankEndsItOnAll) {
  Ranks world(3, GetParam());
  world.start();
  world.run([&](int rank, Group& group) {
    std::vector<float> data(1000, 1);
    if (rank == 1) {
      CallOptions other;
      other.stream = 1;
      const auto work = group.all_reduce(data.data(), data.size(), kF32, ReduceOp::kSum, other);
      work->cancel();
      EXPECT_FALSE(work->wait().ok());
      return;
    }
    const double begin = steady_now();
    const Status status = group.all_reduce(data.data(), data.size(), kF32, ReduceOp::kSum)->wait();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().what, HasSubstr("cancelled by rank 1"));
    EXPECT_LT(steady_now() - begin, 0.5 * time_factor());
  });
}

TEST(GroupStart, AWorldSizeThatIsTooLargeNamesWhoIsMissing) {
  Ranks world(2);
  Ranks::each({0, 1}, [&](int rank) {
    GroupOptions options = world.options(rank);
    options.ranks = 3;
    options.start_deadline_s = 0.2 * time_factor();
    const auto group = Group::start(options);
    ASSERT_FALSE(group.ok());
    EXPECT_THAT(group.error().what, HasSubstr("rank 2 of 3 did not come"));
  });
}

TEST(GroupStart, WorldSizesThatDifferAreAnErrorOnAllRanks) {
  Ranks world(3);
  Ranks::each({0, 1, 2}, [&](int rank) {
    GroupOptions options = world.options(rank);
    options.ranks = rank == 1 ? 2 : 3;
    options.start_deadline_s = 0.4 * time_factor();
    EXPECT_FALSE(Group::start(options).ok()) << rank;
  });
}

TEST(GroupStart, AWrongSecretIsRefusedAtOnce) {
  Ranks world(2);
  GroupOptions options = world.options(0);
  options.secret = *Secret::fresh();
  const double begin = steady_now();
  const auto group = Group::start(options);
  ASSERT_FALSE(group.ok());
  EXPECT_THAT(group.error().what, HasSubstr("secret"));
  EXPECT_LT(steady_now() - begin, options.start_deadline_s / 2);
}

TEST(GroupStart, ANetworkThatIsNotThereIsRefusedAtOnce) {
  Ranks world(1);
  const auto refusal = [&](const char* network, bool encrypt) {
    GroupOptions options = world.options(0);
    options.network = network;
    options.encrypt = encrypt;
    const auto group = Group::start(options);
    return group.ok() ? std::string("none") : group.error().what;
  };
  EXPECT_EQ(refusal("tcp", true), "none");
  EXPECT_THAT(refusal("pigeons", false), HasSubstr("'pigeons'; it must be tcp or ucx"));
  EXPECT_THAT(refusal("ucx", true), HasSubstr("cannot be encrypted"));
  EXPECT_THAT(refusal("ucx", false), HasSubstr(ucx_built() ? "none" : "this build has no UCX"));
}

}  // namespace
}  // namespace weft::runtime

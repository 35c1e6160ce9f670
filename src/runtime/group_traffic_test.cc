// Many operations at once: streams, threads, priorities, sub-groups, slices.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/random.h"
#include "runtime/group_testing.h"

namespace weft::runtime {
namespace {

using Floats = std::vector<float>;

class GroupTraffic : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(All, GroupTraffic, testing::ValuesIn(ways()),
                         [](const auto& p) { return name_of(p.param); });

void expect_done(const Status& status) { EXPECT_TRUE(status.ok()) << status.error().what; }

Group::WorkPtr sum(Group& group, Floats& data, const CallOptions& options = {}) {
  return group.all_reduce(data.data(), data.size(), DataType::kFloat32, ReduceOp::kSum, options);
}

void expect_all(const Floats& data, float want) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(data[i], want) << "element " << i << " of " << data.size();
  }
}

TEST_P(GroupTraffic, StreamsMeetWhateverTheOrderOfTheCalls) {
  Ranks world(4, GetParam());
  world.start();
  world.run([](int rank, Group& group) {
    constexpr std::size_t kStreams = 12;
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<Floats> data;
      std::vector<Group::WorkPtr> work(kStreams);
      std::vector<std::size_t> order(kStreams);
      std::iota(order.begin(), order.end(), 0);
      Random random(static_cast<std::uint64_t>(rank * 10 + repeat));
      for (std::size_t i = kStreams; i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
      for (std::size_t s = 0; s < kStreams; ++s) {
        data.emplace_back(1 + s * 5000, static_cast<float>(rank + static_cast<int>(s)));
      }
      for (const std::size_t s : order) {
        CallOptions options;
        options.stream = static_cast<std::uint32_t>(s);
        options.priority = static_cast<double>(kStreams - s);
        work[s] = sum(group, data[s], options);
      }
      for (std::size_t s = 0; s < kStreams; ++s) {
        expect_done(work[s]->wait());
        expect_all(data[s], static_cast<float>(6 + 4 * s));
      }
    }
  });
}

TEST_P(GroupTraffic, SeveralThreadsOfARankUseStreamsOfTheirOwn) {
  Ranks world(3, GetParam());
  world.start();
  world.run([](int rank, Group& group) {
    std::vector<std::thread> threads;
    for (std::uint32_t stream = 0; stream < 4; ++stream) {
      threads.emplace_back([&, stream] {
        CallOptions options;
        options.stream = stream;
        for (int i = 0; i < 30; ++i) {
          Floats data(static_cast<std::size_t>(1 + i * 97), static_cast<float>(rank + i));
          if (stream % 2 == 0) {
            expect_done(sum(group, data, options)->wait());
          } else {
            expect_done(group.all_reduce_now(data.data(), data.size(), DataType::kFloat32,
                                             ReduceOp::kSum, options));
          }
          expect_all(data, static_cast<float>(3 + 3 * i));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_P(GroupTraffic, SubGroupsWorkBesideTheWholeGroup) {
  Ranks world(5, GetParam());
  world.start();
  world.run([](int rank, Group& group) {
    const std::vector<int> even = {4, 0, 2}, odd = {1, 3};
    const auto sub = group.subgroup(rank % 2 == 0 ? even : odd);
    ASSERT_TRUE(sub.ok()) << sub.error().what;
    EXPECT_EQ((*sub)->rank(), rank / 2);
    EXPECT_EQ((*sub)->size(), rank % 2 == 0 ? 3 : 2);
    Floats whole(5000, static_cast<float>(rank)), part(3001, static_cast<float>(rank));
    const auto first = sum(group, whole);
    expect_done(sum(**sub, part)->wait());
    expect_all(part, rank % 2 == 0 ? 6.0f : 4.0f);
    expect_done(first->wait());
    expect_all(whole, 10.0f);
    const auto refused = group.subgroup({0, 5});
    EXPECT_FALSE(refused.ok());
    EXPECT_FALSE((*sub)->reform(1).ok());
  });
}

TEST_P(GroupTraffic, SubGroupsOfOthersDoNotCount) {
  Ranks world(3, GetParam());
  world.start();
  world.run([](int rank, Group& group) {
    // Rank 0 has made another one before; rank 1 has not heard of that.
    if (rank != 1) {
      ASSERT_TRUE(group.subgroup({0, 2}).ok());
    }
    if (rank == 2) return;
    const auto pair = group.subgroup({0, 1});
    ASSERT_TRUE(pair.ok());
    Floats values(100, static_cast<float>(rank + 1));
    CallOptions call;
    call.deadline_s = 10;
    expect_done(sum(**pair, values, call)->wait());
    expect_all(values, 3.0f);
  });
}

TEST_P(GroupTraffic, LongVectorsNeedManySlices) {
  Ranks world(3, GetParam());
  world.base.encrypt = GetParam() == Medium::kTcp;
  world.start();
  world.run([](int rank, Group& group) {
    Floats data(3'000'017);
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<float>(static_cast<std::size_t>(rank + 1) * (i % 1009));
    }
    expect_done(sum(group, data)->wait());
    for (std::size_t i = 0; i < data.size(); ++i) {
      ASSERT_EQ(data[i], static_cast<float>(6 * (i % 1009))) << i;
    }
    expect_done(group.broadcast(data.data(), data.size(), DataType::kFloat32, 2)->wait());
    const int next = (rank + 1) % 3, before = (rank + 2) % 3;
    Floats got(data.size());
    const auto sent = group.send(data.data(), data.size(), DataType::kFloat32, next, 1);
    expect_done(group.receive(got.data(), got.size(), DataType::kFloat32, before, 1)->wait());
    expect_done(sent->wait());
    EXPECT_EQ(got, data);
  });
}

TEST_P(GroupTraffic, ManyReceivesThatWaitKeepNoSendBack) {
  Ranks world(2, GetParam());
  world.base.credit_bytes = 1 << 20;
  world.start();
  world.run([](int rank, Group& group) {
    constexpr std::size_t kMessages = 64, kCount = 16 << 10;
    CallOptions call;
    call.deadline_s = 20;
    const Floats data(kCount, static_cast<float>(rank));
    std::vector<Floats> got(kMessages, Floats(kCount));
    std::vector<Group::WorkPtr> works;
    for (Floats& one : got) {
      works.push_back(group.receive(one.data(), kCount, DataType::kFloat32, 1 - rank, 0, call));
    }
    for (std::size_t i = 0; i < kMessages; ++i) {
      works.push_back(group.send(data.data(), kCount, DataType::kFloat32, 1 - rank, 0, call));
    }
    for (const auto& work : works) expect_done(work->wait());
    for (const Floats& one : got) EXPECT_EQ(one, Floats(kCount, static_cast<float>(1 - rank)));
  });
}

// Sums of numbers of very different size depend on the order of the additions.
TEST_P(GroupTraffic, ResultsAreBitIdenticalOnAllRanksAndInEveryRun) {
  for (const int ranks : {3, 4}) {
    std::vector<Floats> results;
    for (int run = 0; run < 2; ++run) {
      Ranks world(ranks, GetParam());
      world.start();
      std::vector<std::vector<Floats>> of(static_cast<std::size_t>(ranks));
      world.run([&](int rank, Group& group) {
        for (const std::size_t count : {5u, 700u, 30011u, 300007u}) {
          Random random(static_cast<std::uint64_t>(rank));
          Floats data(count);
          for (float& x : data) {
            x = static_cast<float>(random.normal() * std::exp(10 * random.normal()));
          }
          expect_done(sum(group, data)->wait());
          of[static_cast<std::size_t>(rank)].push_back(std::move(data));
        }
      });
      for (const auto& one : of) {
        if (results.empty()) results = one;
        ASSERT_EQ(one.size(), results.size());
        for (std::size_t i = 0; i < one.size(); ++i) {
          EXPECT_EQ(std::memcmp(one[i].data(), results[i].data(), 4 * one[i].size()), 0)
              << ranks << " ranks, run " << run;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::runtime

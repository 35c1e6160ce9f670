// Every operation on live ranks, against values computed element by element. Values are small whole
// numbers, so that the result does not depend on the order of additions.
#include "runtime/group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "runtime/group_testing.h"
#include "runtime/reduce_testing.h"

namespace weft::runtime {
namespace {

using Bytes = std::vector<std::byte>;

// What rank `rank` gives as element i; `times` keeps averages whole.
int value(int rank, std::uint64_t i, int times) {
  return static_cast<int>((static_cast<std::uint64_t>(rank) * 7 + i * 3 + i / 11) % 4) * times;
}

Bytes filled_bytes(DataType type, std::uint64_t count, const std::function<int(std::uint64_t)>& f) {
  Bytes bytes(count * size_of(type));
  reference::with_type(type, [&]<typename T>(T) {
    for (std::uint64_t i = 0; i < count; ++i) {
      T element;
      if constexpr (std::is_arithmetic_v<T>) {
        element = static_cast<T>(f(i));
      } else {
        element = T::encode(static_cast<float>(f(i)));
      }
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return bytes;
}

int folded(ReduceOp op, int ranks, std::uint64_t i) {
  const int times = op == ReduceOp::kAverage ? ranks : 1;
  int result = value(0, i, times);
  for (int rank = 1; rank < ranks; ++rank) {
    const int other = value(rank, i, times);
    if (op == ReduceOp::kMin) result = std::min(result, other);
    if (op == ReduceOp::kMax) result = std::max(result, other);
    if (op == ReduceOp::kSum || op == ReduceOp::kAverage) result += other;
  }
  return op == ReduceOp::kAverage ? result / ranks : result;
}

struct GroupCase {
  DataType type;
  ReduceOp op;
  std::uint64_t count;
};
const GroupCase kGroupCases[] = {
    {DataType::kFloat32, ReduceOp::kSum, 0},      {DataType::kFloat32, ReduceOp::kSum, 1},
    {DataType::kFloat32, ReduceOp::kSum, 7},      {DataType::kFloat32, ReduceOp::kSum, 1000},
    {DataType::kFloat32, ReduceOp::kSum, 100003}, {DataType::kFloat32, ReduceOp::kAverage, 1000},
    {DataType::kFloat64, ReduceOp::kMin, 1000},   {DataType::kFloat64, ReduceOp::kAverage, 100003},
    {DataType::kFloat16, ReduceOp::kSum, 1000},   {DataType::kFloat16, ReduceOp::kAverage, 7},
    {DataType::kBfloat16, ReduceOp::kSum, 1000},  {DataType::kBfloat16, ReduceOp::kMax, 100003},
    {DataType::kInt32, ReduceOp::kMax, 7},        {DataType::kInt32, ReduceOp::kAverage, 1000},
    {DataType::kInt64, ReduceOp::kSum, 100003},   {DataType::kUint8, ReduceOp::kMin, 1000},
    {DataType::kUint8, ReduceOp::kSum, 100003},
};

class GroupOperations : public testing::TestWithParam<std::tuple<int, Medium>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  // f(rank, group, case) for all cases, on started ranks.
  void with_cases(const std::function<void(int, Group&, const GroupCase&)>& f) {
    Ranks world(ranks(), std::get<1>(GetParam()));
    world.start();
    if (HasFatalFailure()) return;
    world.run([&](int rank, Group& group) {
      for (const GroupCase& c : kGroupCases) {
        SCOPED_TRACE(fmt::format("rank {} of {}: {} {} of {}", rank, ranks(), name_of(c.op),
                                 name_of(c.type), c.count));
        f(rank, group, c);
      }
    });
  }
};
INSTANTIATE_TEST_SUITE_P(All, GroupOperations,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 8),
                                          testing::ValuesIn(ways())),
                         [](const auto& p) {
                           return name_of(std::get<1>(p.param)) +
                                  std::to_string(std::get<0>(p.param));
                         });

#define EXPECT_DONE(status)                        \
  do {                                             \
    const Status done_ = (status);                 \
    EXPECT_TRUE(done_.ok()) << done_.error().what; \
  } while (false)

TEST_P(GroupOperations, AllReduceAndItsQuickForm) {
  with_cases([&](int rank, Group& group, const GroupCase& c) {
    const int times = c.op == ReduceOp::kAverage ? ranks() : 1;
    const auto own = [&](std::uint64_t i) { return value(rank, i, times); };
    const auto want = [&](std::uint64_t i) { return folded(c.op, ranks(), i); };
    Bytes data = filled_bytes(c.type, c.count, own);
    EXPECT_DONE(group.all_reduce(data.data(), c.count, c.type, c.op)->wait());
    EXPECT_TRUE(data == filled_bytes(c.type, c.count, want));
    data = filled_bytes(c.type, c.count, own);
    EXPECT_DONE(group.all_reduce_now(data.data(), c.count, c.type, c.op));
    EXPECT_TRUE(data == filled_bytes(c.type, c.count, want));
  });
}

TEST_P(GroupOperations, BroadcastAndReduceFromAndToEveryRoot) {
  with_cases([&](int rank, Group& group, const GroupCase& c) {
    const int times = c.op == ReduceOp::kAverage ? ranks() : 1;
    for (int root = 0; root<ranks(); root += c.count> 1000 ? 3 : 1) {
      Bytes data =
          filled_bytes(c.type, c.count, [&](std::uint64_t i) { return value(rank, i, 1); });
      EXPECT_DONE(group.broadcast(data.data(), c.count, c.type, root)->wait());
      EXPECT_TRUE(data == filled_bytes(c.type, c.count,
                                       [&](std::uint64_t i) { return value(root, i, 1); }));
      data = filled_bytes(c.type, c.count, [&](std::uint64_t i) { return value(rank, i, times); });
      EXPECT_DONE(group.reduce(data.data(), c.count, c.type, c.op, root)->wait());
      if (rank != root) continue;
      EXPECT_TRUE(data == filled_bytes(c.type, c.count,
                                       [&](std::uint64_t i) { return folded(c.op, ranks(), i); }));
    }
  });
}

TEST_P(GroupOperations, GatherScatterAndAllToAll) {
  with_cases([&](int rank, Group& group, const GroupCase& c) {
    const auto n = c.count;
    const auto p = static_cast<std::uint64_t>(ranks());
    const auto self = static_cast<std::uint64_t>(rank);
    const int times = c.op == ReduceOp::kAverage ? ranks() : 1;
    Bytes out(n * p * size_of(c.type));
    const Bytes part = filled_bytes(c.type, n, [&](std::uint64_t i) { return value(rank, i, 1); });
    EXPECT_DONE(group.all_gather(part.data(), out.data(), n, c.type)->wait());
    EXPECT_TRUE(out == filled_bytes(c.type, n * p, [&](std::uint64_t i) {
                  return value(static_cast<int>(i / n), i % n, 1);
                }));
    const Bytes whole =
        filled_bytes(c.type, n * p, [&](std::uint64_t i) { return value(rank, i, times); });
    Bytes sum(n * size_of(c.type));
    EXPECT_DONE(group.reduce_scatter(whole.data(), sum.data(), n, c.type, c.op)->wait());
    EXPECT_TRUE(sum == filled_bytes(c.type, n, [&](std::uint64_t i) {
                  return folded(c.op, ranks(), self * n + i);
                }));
    const Bytes sent =
        filled_bytes(c.type, n * p, [&](std::uint64_t i) { return value(rank, i, 1); });
    EXPECT_DONE(group.all_to_all(sent.data(), out.data(), n, c.type)->wait());
    EXPECT_TRUE(out == filled_bytes(c.type, n * p, [&](std::uint64_t i) {
                  return value(static_cast<int>(i / n), self * n + i % n, 1);
                }));
  });
}

// Rank s sends (s + 2 d) % 4 times the count to rank d, so some pairs exchange nothing.
TEST_P(GroupOperations, AllToAllWithAmountsOfTheirOwn) {
  with_cases([&](int rank, Group& group, const GroupCase& c) {
    const auto amount = [&](int s, int d) {
      return static_cast<std::uint64_t>((s + 2 * d) % 4) * std::min<std::uint64_t>(c.count, 30000);
    };
    std::vector<std::uint64_t> sends, receives;
    std::uint64_t in_count = 0, out_count = 0;
    for (int other = 0; other < ranks(); ++other) {
      sends.push_back(amount(rank, other));
      receives.push_back(amount(other, rank));
      in_count += sends.back();
      out_count += receives.back();
    }
    const Bytes in =
        filled_bytes(c.type, in_count, [&](std::uint64_t i) { return value(rank, i, 1); });
    Bytes out(out_count * size_of(c.type)), want;
    for (int other = 0; other < ranks(); ++other) {
      std::uint64_t before = 0;
      for (int d = 0; d < rank; ++d) before += amount(other, d);
      const Bytes piece = filled_bytes(c.type, amount(other, rank), [&](std::uint64_t i) {
        return value(other, before + i, 1);
      });
      want.insert(want.end(), piece.begin(), piece.end());
    }
    EXPECT_DONE(group.all_to_all_v(in.data(), sends, out.data(), receives, c.type)->wait());
    EXPECT_TRUE(out == want);
  });
}

TEST_P(GroupOperations, SendAndReceiveRoundTheCircleWithTags) {
  if (ranks() == 1) return;
  with_cases([&](int rank, Group& group, const GroupCase& c) {
    const int next = (rank + 1) % ranks(), before = (rank + ranks() - 1) % ranks();
    std::vector<Group::WorkPtr> work;
    Bytes in[2], out[2];
    for (int tag = 1; tag >= 0; --tag) {  // received in the other order
      out[tag] =
          filled_bytes(c.type, c.count, [&](std::uint64_t i) { return value(rank + tag, i, 1); });
      work.push_back(
          group.send(out[tag].data(), c.count, c.type, next, static_cast<std::uint32_t>(tag)));
    }
    for (int tag = 0; tag < 2; ++tag) {
      in[tag].resize(c.count * size_of(c.type));
      work.push_back(
          group.receive(in[tag].data(), c.count, c.type, before, static_cast<std::uint32_t>(tag)));
    }
    for (const auto& one : work) EXPECT_DONE(one->wait());
    for (int tag = 0; tag < 2; ++tag) {
      EXPECT_TRUE(in[tag] == filled_bytes(c.type, c.count, [&](std::uint64_t i) {
                    return value(before + tag, i, 1);
                  }));
    }
    EXPECT_DONE(group.barrier()->wait());
    EXPECT_DONE(group.barrier_now());
  });
}

}  // namespace
}  // namespace weft::runtime

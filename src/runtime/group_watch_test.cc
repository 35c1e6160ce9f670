// Ranks that are slow or hang, as threads of one process with a group each.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>

#include "base/files.h"
#include "runtime/group.h"
#include "runtime/net/store.h"
#include "runtime/record/event.h"

namespace weft::runtime {
namespace {

constexpr int kWatchedRanks = 4;

class GroupWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fmt::format("{}/watch{}", testing::TempDir(), getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Runs `body` in a thread for each of four ranks that have met.
  void in_ranks(GroupOptions options, const std::function<void(Group&, int)>& body) {
    const auto secret = Secret::fresh();
    ASSERT_TRUE(secret.ok());
    const auto server = StoreServer::start("127.0.0.1:0", *secret);
    ASSERT_TRUE(server.ok()) << server.error().what;
    std::vector<std::thread> threads;
    std::atomic<int> left = kWatchedRanks;
    for (int rank = 0; rank < kWatchedRanks; ++rank) {
      threads.emplace_back([&, options, rank]() mutable {
        options.store = fmt::format("127.0.0.1:{}", (*server)->port());
        options.secret = *secret;
        options.rank = rank;
        options.member = static_cast<std::uint32_t>(rank);
        options.ranks = kWatchedRanks;
        auto group = Group::start(options);
        EXPECT_TRUE(group.ok()) << (group.ok() ? "" : group.error().what);
        if (group.ok()) body(**group, rank);
        --left;
        while (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::string folder_;
};

// Computing is sleeping here, so that it takes as long however few cores there are. How many steps
// it takes is tested in record/slow_test.cc; here the machine may be busy with anything.
TEST_F(GroupWatchTest, ASlowedRankIsNamedByAllRanksAtTheSameStep) {
  constexpr int kBefore = 12, kMost = 100, kVictim = 2;
  for (const double factor : {1.5, 4.0}) {
    for (const bool marked : {true, false}) {
      int steps[kWatchedRanks] = {};
      in_ranks({}, [&](Group& group, int rank) {
        std::vector<SlowRank> found;
        float value = 1;
        int step = 1;
        for (; step <= kBefore + kMost && found.empty(); ++step) {
          if (marked) group.mark_step();
          const bool slow = rank == kVictim && step > kBefore;
          std::this_thread::sleep_for(std::chrono::duration<double>(slow ? 0.06 * factor : 0.06));
          // One goes without comparing calls first, the other does nothing else.
          ASSERT_TRUE(group.all_reduce_now(&value, 1, DataType::kFloat32, ReduceOp::kMax).ok());
          ASSERT_TRUE(group.barrier()->wait().ok());
          found = group.slow_ranks();
        }
        steps[rank] = step;
        ASSERT_EQ(found.size(), 1u) << "rank " << rank << ", factor " << factor;
        EXPECT_EQ(found[0].rank, kVictim);
        EXPECT_NEAR(found[0].ratio, factor, 0.3 * factor);
        EXPECT_GE(found[0].since, static_cast<std::uint64_t>(kBefore) - 1);
      });
      for (const int step : steps) EXPECT_EQ(step, steps[0]);
      RecordProperty(fmt::format("steps_{}_{}", factor, marked), steps[0] - kBefore - 1);
    }
  }
}

TEST_F(GroupWatchTest, AHungRankIsNamedAndAllStacksAreSaved) {
  GroupOptions options;
  options.log_dir = folder_;
  options.record = folder_ + "/recording";
  options.deadline_s = 1.5;
  std::promise<void> over;
  const std::shared_future<void> is_over = over.get_future().share();
  std::atomic<int> failed = 0;
  in_ranks(options, [&](Group& group, int rank) {
    float value = 1;
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(group.all_reduce(&value, 1, DataType::kFloat32, ReduceOp::kMax)->wait().ok());
    }
    if (rank == 3) {  // hangs, outside of the library
      is_over.wait();
      // The news comes by another thread.
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (group.broken().empty() && std::chrono::steady_clock::now() < until) {
        std::this_thread::yield();
      }
      EXPECT_NE(group.broken(), "");
      return;
    }
    const Status status = group.all_reduce(&value, 1, DataType::kFloat32, ReduceOp::kMax)->wait();
    ASSERT_FALSE(status.ok());
    // Number 0 was the barrier at the start.
    EXPECT_EQ(
        status.error().what,
        "all-reduce of 1 float32 (max) did not end before its deadline; rank 3 has not entered "
        "all-reduce number 6 of stream 0; it last entered number 5");
    if (++failed == kWatchedRanks - 1) over.set_value();
  });
  for (int rank = 0; rank < kWatchedRanks; ++rank) {
    const auto text = read_file(fmt::format("{}/stacks-rank{}.txt", folder_, rank), 1 << 20);
    ASSERT_TRUE(text.ok()) << text.error().what;
    EXPECT_NE(text->find("thread "), std::string::npos) << *text;
    EXPECT_NE(text->find("number 6 of stream 0"), std::string::npos) << *text;
    const auto bytes = read_file(fmt::format("{}/recording.rank{}", folder_, rank), 1 << 24);
    ASSERT_TRUE(bytes.ok()) << bytes.error().what;
    const auto recording = decode_recording(view_of(*bytes));
    ASSERT_TRUE(recording.ok()) << recording.error().what;
    EXPECT_EQ(recording->rank, static_cast<std::uint32_t>(rank));
    int failures = 0;
    for (const Event& event : recording->events) failures += event.kind == EventKind::kFailed;
    EXPECT_EQ(failures, rank == 3 ? 0 : 1);
  }
}

TEST_F(GroupWatchTest, EveryOperationIsRecordedFromItsCallToItsEnd) {
  const std::string path = folder_ + "/asked";
  in_ranks({}, [&](Group& group, int rank) {
    float value = 1;
    group.mark_step();
    group.record(Group::Mark::kComputeBegin);
    group.record(Group::Mark::kComputeEnd);
    ASSERT_TRUE(group.broadcast(&value, 1, DataType::kFloat32, 0)->wait().ok());
    ASSERT_TRUE(group.all_reduce_now(&value, 1, DataType::kFloat32, ReduceOp::kSum).ok());
    if (rank == 0) {
      ASSERT_TRUE(group.save_recording(path).ok());
    }
  });
  const auto bytes = read_file(path, 1 << 24);
  ASSERT_TRUE(bytes.ok());
  const auto recording = decode_recording(view_of(*bytes));
  ASSERT_TRUE(recording.ok());
  int counts[kEventKinds] = {};
  std::int64_t before_ns = 0;
  for (const Event& event : recording->events) {
    ++counts[static_cast<int>(event.kind)];
    if (event.kind == EventKind::kSubmitted) before_ns = event.time_ns;
    if (event.kind == EventKind::kEnded) {
      EXPECT_GE(event.time_ns, before_ns);
    }
  }
  // The broadcast and the all-reduce; what the start of the group did is not the user's.
  EXPECT_EQ(counts[static_cast<int>(EventKind::kSubmitted)], 2);
  EXPECT_EQ(counts[static_cast<int>(EventKind::kEnded)], 2);
  EXPECT_GE(counts[static_cast<int>(EventKind::kBegun)], 1);
  EXPECT_EQ(counts[static_cast<int>(EventKind::kWaitBegin)],
            counts[static_cast<int>(EventKind::kWaitEnd)]);
  EXPECT_EQ(counts[static_cast<int>(EventKind::kStep)], 1);
  EXPECT_EQ(counts[static_cast<int>(EventKind::kComputeEnd)], 1);
}

}  // namespace
}  // namespace weft::runtime

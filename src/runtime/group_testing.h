// Ranks as threads of one process, for tests: each has a group of its own and nothing is shared but
// the rendezvous store.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "runtime/engine.h"
#include "runtime/group.h"
#include "runtime/net/store.h"
#include "runtime/ucx/ucx_transport.h"

namespace weft::runtime {

// By how much bounds on time are stretched: WEFT_TIME_FACTOR, or what instrumented builds need.
inline double time_factor() {
  if (const char* text = std::getenv("WEFT_TIME_FACTOR")) return std::strtod(text, nullptr);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 30;
#else
  return 5;
#endif
}

inline constexpr DataType kF32 = DataType::kFloat32;

// What carries the bytes of ranks.
enum class Medium { kMemory, kTcp, kUcx };

inline std::vector<Medium> ways() {
  std::vector<Medium> built = {Medium::kMemory, Medium::kTcp};
  if (ucx_built()) built.push_back(Medium::kUcx);
  return built;
}

inline std::string name_of(Medium way) {
  return way == Medium::kMemory ? "Memory" : way == Medium::kTcp ? "Tcp" : "Ucx";
}

class Ranks {
 public:
  explicit Ranks(int ranks, Medium way = Medium::kMemory) : ranks_(ranks) {
    secret_ = *Secret::fresh();
    store_ = StoreServer::start("127.0.0.1:0", secret_).value();
    base.shared_memory = way == Medium::kMemory;
    base.network = way == Medium::kUcx ? "ucx" : "tcp";
    base.start_deadline_s = 4 * time_factor();
    base.deadline_s = 4 * time_factor();
  }

  // What the ranks are started with; changes before start() count for all.
  GroupOptions base;

  GroupOptions options(int rank) const {
    GroupOptions options = base;
    options.store = fmt::format("127.0.0.1:{}", store_->port());
    options.secret = secret_;
    options.job = 7;
    options.rank = rank;
    options.member = static_cast<std::uint32_t>(rank);
    options.ranks = ranks_;
    return options;
  }

  // Calls f(rank) for each of the ranks in a thread of its own. A thread that does not come back
  // ends the test program, since it cannot be joined.
  static void each(const std::vector<int>& ranks, const std::function<void(int)>& f) {
    std::vector<std::future<void>> threads;
    for (const int rank : ranks) threads.push_back(std::async(std::launch::async, f, rank));
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(20 * time_factor());
    for (std::size_t i = 0; i < threads.size(); ++i) {
      if (threads[i].wait_until(until) == std::future_status::ready) continue;
      CHECK_MSG(false, fmt::format("rank {} hangs", ranks[i]).c_str());
    }
  }
  std::vector<int> all() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < ranks_; ++rank) ranks.push_back(rank);
    return ranks;
  }

  // Starts all groups. Ensures: they stay until stop().
  void start() {
    groups_.resize(static_cast<std::size_t>(ranks_));
    each(all(), [&](int rank) {
      auto group = Group::start(options(rank));
      ASSERT_TRUE(group.ok()) << group.error().what;
      groups_[static_cast<std::size_t>(rank)] = std::move(*group);
    });
  }
  std::shared_ptr<Group>& group(int rank) { return groups_[static_cast<std::size_t>(rank)]; }
  // f(rank, group) on all ranks that have a group.
  void run(const std::function<void(int, Group&)>& f) {
    std::vector<int> present;
    for (const int rank : all()) {
      if (group(rank) != nullptr) present.push_back(rank);
    }
    each(present, [&](int rank) { f(rank, *group(rank)); });
  }
  void kill(int rank) { group(rank).reset(); }

 private:
  int ranks_;
  Secret secret_;
  std::unique_ptr<StoreServer> store_;
  std::vector<std::shared_ptr<Group>> groups_;
};

}  // namespace weft::runtime

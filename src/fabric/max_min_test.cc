#include "fabric/max_min.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>

#include "base/random.h"
#include "fabric/max_min_testing.h"

namespace weft {
namespace {

struct MaxMinCase {
  const char* sentence;
  std::vector<double> capacity;
  std::vector<PlainStream> streams;
  std::vector<double> want;
};

TEST(MaxMin, SharesLinksAsComputedByHand) {
  const MaxMinCase cases[] = {
      {"one flow has its link alone", {10}, {{{0}, 0, 1, kUnlimited}}, {10}},
      {"two flows halve a link", {10}, {{{0}, 0, 1, kUnlimited}, {{0}, 0, 1, kUnlimited}}, {5, 5}},
      {"what one cannot use elsewhere goes to the other",
       {10, 2},
       {{{0, 1}, 0, 1, kUnlimited}, {{0}, 0, 1, kUnlimited}},
       {2, 8}},
      {"weights divide", {9}, {{{0}, 0, 2, kUnlimited}, {{0}, 0, 1, kUnlimited}}, {6, 3}},
      {"a cap frees the rest", {9}, {{{0}, 0, 1, 1}, {{0}, 0, 1, kUnlimited}}, {1, 8}},
      {"a lower rank is served first", {9}, {{{0}, 1, 1, kUnlimited}, {{0}, 0, 1, 6}}, {3, 6}},
      {"a higher rank may get nothing", {9}, {{{0}, 5, 1, kUnlimited}, {{0}, 2, 1, 20}}, {0, 9}},
      {"equal flows count one by one",
       {12},
       {{{0}, 0, 1, kUnlimited, 3}, {{0}, 0, 1, kUnlimited, 1}},
       {3, 3}},
      {"a failed link stops what crosses it",
       {0, 8},
       {{{0, 1}, 0, 1, kUnlimited}, {{1}, 0, 1, kUnlimited}},
       {0, 8}},
      {"no link, only a cap", {1}, {{{}, 0, 1, 7}}, {7}},
      {"a bundle that crosses a link twice takes twice of it",
       {9, 9},
       {{{0, 1, 0}, 0, 1, kUnlimited}, {{0}, 0, 1, kUnlimited}},
       {3, 3}},
      {"the chain of three links",
       {6, 4, 10},
       {{{0, 1}, 0, 1, kUnlimited},
        {{1, 2}, 0, 1, kUnlimited},
        {{0}, 0, 1, kUnlimited},
        {{2}, 0, 1, kUnlimited}},
       {2, 2, 4, 8}},
  };
  for (const MaxMinCase& c : cases) {
    SCOPED_TRACE(c.sentence);
    MaxMin solver(c.capacity);
    std::vector<StreamId> ids;
    for (const PlainStream& s : c.streams) {
      ids.push_back(solver.add({s.path, s.rank, s.weight, s.cap}, s.flows));
    }
    EXPECT_EQ(solver.settle().size(), ids.size());
    const std::vector<double> plain = plain_max_min(c.capacity, c.streams);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_NEAR(solver.rate(ids[i]), c.want[i], 1e-12);
      EXPECT_NEAR(plain[i], c.want[i], 1e-12);
    }
  }
}

TEST(MaxMin, ReportsOnlyWhatChanged) {
  MaxMin solver({10, 10, 10});
  const LinkId first[] = {0}, second[] = {1};
  const StreamId a = solver.add({first});
  const StreamId b = solver.add({second});
  EXPECT_EQ(solver.settle(), (std::vector<StreamId>{a, b}));
  EXPECT_TRUE(solver.settle().empty());
  const StreamId c = solver.add({second});
  std::vector<StreamId> changed = solver.settle();
  std::sort(changed.begin(), changed.end());
  EXPECT_EQ(changed, (std::vector<StreamId>{b, c}));
  solver.remove(c);
  EXPECT_EQ(solver.settle(), std::vector<StreamId>{b});
  EXPECT_EQ(solver.rate(a), 10);
  EXPECT_EQ(solver.load(1), 10);
}

// A random network that streams join and leave, against the oracle after every settle().
class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint64_t seed) : random_(seed), ranks_(1 + random_.below(4)) {
    const std::size_t links = 1 + random_.below(12);
    // Few distinct speeds make ties, which is where levels meet.
    const bool ties = random_.chance(0.5);
    for (std::size_t i = 0; i < links; ++i) {
      capacity_.push_back(ties ? double(1 + random_.below(3)) : random_.uniform(0.1, 10));
    }
  }

  void run(int steps) {
    MaxMin solver(capacity_);
    for (int step = 0; step < steps; ++step) {
      for (std::uint64_t edits = 1 + random_.below(3); edits > 0; --edits) edit(solver);
      solver.settle();
      compare(solver, step);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

 private:
  PlainStream draw() {
    PlainStream stream;
    std::vector<LinkId> all(capacity_.size());
    std::iota(all.begin(), all.end(), 0);
    const std::size_t hops = random_.below(std::min<std::size_t>(capacity_.size(), 5) + 1);
    for (std::size_t i = 0; i < hops; ++i) {
      std::swap(all[i], all[i + random_.below(all.size() - i)]);
      stream.path.push_back(all[i]);
    }
    if (hops > 0 && random_.chance(0.2)) stream.path.push_back(stream.path[random_.below(hops)]);
    stream.rank = static_cast<std::uint32_t>(random_.below(ranks_));
    stream.weight = random_.chance(0.5) ? 1 : random_.uniform(0.2, 5);
    stream.cap = random_.chance(0.3) || hops == 0 ? random_.uniform(0, 4) : kUnlimited;
    stream.flows = random_.chance(0.7) ? 1 : 1 + static_cast<std::uint32_t>(random_.below(5));
    return stream;
  }

  void edit(MaxMin& solver) {
    const double dice = random_.uniform();
    if (live_.empty() || (dice < 0.45 && live_.size() < 30)) {
      const PlainStream s = draw();
      live_.emplace(solver.add({s.path, s.rank, s.weight, s.cap}, s.flows), s);
      return;
    }
    auto at = std::next(live_.begin(), static_cast<long>(random_.below(live_.size())));
    if (dice < 0.85) {
      solver.remove(at->first);
      live_.erase(at);
    } else if (dice < 0.9) {
      at->second.flows = 1 + static_cast<std::uint32_t>(random_.below(4));
      solver.set_flows(at->first, at->second.flows);
    } else if (dice < 0.95 && !at->second.path.empty()) {
      at->second.cap = random_.chance(0.5) ? kUnlimited : random_.uniform(0, 3);
      solver.set_cap(at->first, at->second.cap);
    } else {
      const LinkId link = static_cast<LinkId>(random_.below(capacity_.size()));
      capacity_[link] = random_.chance(0.2) ? 0 : random_.uniform(0.5, 8);
      solver.set_capacity(link, capacity_[link]);
    }
  }

  void compare(const MaxMin& solver, int step) {
    std::vector<PlainStream> streams;
    for (const auto& [unused, stream] : live_) streams.push_back(stream);
    const std::vector<double> want = plain_max_min(capacity_, streams);
    std::size_t i = 0;
    for (const auto& [id, stream] : live_) {
      ASSERT_NEAR(solver.rate(id), want[i], 1e-12 * std::max(1.0, want[i]))
          << "step " << step << ", stream " << id;
      ++i;
    }
  }

  Random random_;
  std::uint64_t ranks_;
  std::vector<double> capacity_;
  std::map<StreamId, PlainStream> live_;
};

TEST(MaxMin, AgreesWithTheOracleOnRandomNetworks) {
  const char* asked = std::getenv("WEFT_SEED");
  const bool soak = std::getenv("WEFT_SOAK") != nullptr;
  const std::uint64_t first = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 1;
  const std::uint64_t count = asked != nullptr ? 1 : soak ? 20'000 : 400;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    RandomNetwork(seed).run(60);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace weft

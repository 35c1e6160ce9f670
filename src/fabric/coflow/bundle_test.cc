#include "fabric/coflow/bundle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace weft {
namespace {

constexpr std::uint64_t kSeeds = 200;

// A bundle of up to 90 x 90 ports (two words of bits), some pairs without a flow.
Bundle random_bundle(Random& random, std::uint32_t ports) {
  Coflow coflow;
  const auto side = [&](std::vector<PortId>& chosen) {
    while (chosen.empty()) {
      for (PortId port = 0; port < ports; ++port) {
        if (random.uniform() < 0.8) chosen.push_back(port);
      }
    }
  };
  side(coflow.sources);
  side(coflow.targets);
  for (std::size_t k = 0; k < coflow.sources.size() * coflow.targets.size(); ++k) {
    coflow.bytes.push_back(random.uniform() < 0.3 ? 0 : 1 + std::exp(20 * random.uniform()));
  }
  coflow.bytes[0] = 1e6;
  return make_bundle(coflow, 0, ports);
}

PortRoom random_room(Random& random, std::uint32_t ports) {
  PortRoom room(2 * std::size_t{ports});
  for (double& at : room) at = random.uniform() < 0.2 ? 0 : 1e8 * random.uniform();
  return room;
}

// Every flow stands behind a full link on which none has more per weight.
void expect_max_min(const Bundle& b, BundleFill fill, const PortRoom& room) {
  const auto weight = [&](std::uint32_t i, std::uint32_t j) {
    return fill == BundleFill::kEqual ? b.weights[b.row(i) + j] : b.left(i, j);
  };
  std::vector<double> used(b.links.size()), most(b.links.size());
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    for (std::uint32_t j = 0; j < b.columns; ++j) {
      if (b.left(i, j) <= 0) continue;
      const double each = fill == BundleFill::kEqual ? b.weights[b.row(i) + j] : 1;
      for (const std::uint32_t k : {i, b.rows + j}) {
        used[k] += b.rate(i, j) * each;
        most[k] = std::max(most[k], b.rate(i, j) * each / weight(i, j));
      }
    }
  }
  for (std::size_t k = 0; k < used.size(); ++k) ASSERT_LE(used[k], room[b.links[k]] * (1 + 1e-9));
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    for (std::uint32_t j = 0; j < b.columns; ++j) {
      if (b.left(i, j) <= 0) continue;
      const double each = fill == BundleFill::kEqual ? b.weights[b.row(i) + j] : 1;
      bool behind = false;
      for (const std::uint32_t k : {i, b.rows + j}) {
        behind |= used[k] >= room[b.links[k]] * (1 - 1e-9) &&
                  b.rate(i, j) * each / weight(i, j) >= most[k] * (1 - 1e-6);
      }
      ASSERT_TRUE(behind) << i << ", " << j;
    }
  }
}

// Gives rates, moves on, and again, with every flow's bytes followed beside the bundle's clocks.
void follow(std::uint64_t seed, BundleFill fill, bool madd) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto ports = static_cast<std::uint32_t>(1 + random.below(seed % 10 == 0 ? 90 : 9));
  Bundle b = random_bundle(random, ports);
  FillScratch scratch;
  std::vector<double> left = b.bytes;
  for (int step = 0; step < 30 && b.flows_left > 0; ++step) {
    PortRoom room = random_room(random, ports);
    const PortRoom before = room;
    if (madd) give_madd(b, room);
    const PortRoom between = room;
    give_max_min(b, fill, room, scratch);
    if (!madd) expect_max_min(b, fill, between);
    for (std::size_t k = 0; k < b.links.size(); ++k) {
      b.link_use[k] = before[b.links[k]] - room[b.links[k]];
    }
    const Seconds end = first_end(b);
    // Half the time in two moves, the second at the rates of the first.
    const Seconds until = end == kNever ? b.since + 1 : end;
    const Seconds start = b.since;
    std::vector<double> rate(left.size());
    for (std::size_t k = 0; k < left.size(); ++k) {
      rate[k] = b.rate(static_cast<std::uint32_t>(k / b.columns),
                       static_cast<std::uint32_t>(k % b.columns));
    }
    std::vector<std::uint32_t> ended;
    if (step % 2 == 0) advance(b, start + (until - start) / 3, ended);
    advance(b, until, ended);
    ASSERT_EQ(ended.empty(), end == kNever);
    std::uint32_t alive = 0;
    std::vector<double> sums(b.links.size());
    for (std::size_t k = 0; k < left.size(); ++k) {
      const auto i = static_cast<std::uint32_t>(k / b.columns);
      const auto j = static_cast<std::uint32_t>(k % b.columns);
      left[k] -= rate[k] * (until - start);
      const double now = b.left(i, j);
      ASSERT_NEAR(now, left[k], 2 * kDoneBytes + 1e-9 * b.bytes[k]) << i << ", " << j;
      left[k] = now;
      alive += now > 0;
      sums[i] += now;
      sums[b.rows + j] += now;
    }
    ASSERT_EQ(alive, b.flows_left);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      ASSERT_NEAR(b.link_left[k], sums[k], 1 + 1e-9 * sums[k]);
    }
    sum_links(b);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      ASSERT_NEAR(b.link_left[k], sums[k], 1e-3 + 1e-12 * sums[k]);
    }
  }
}

TEST(Bundle, MovesAsItsRatesSayWhateverLinkHoldsAFlow) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    follow(seed, BundleFill::kEqual, false);
    follow(seed, BundleFill::kProportional, false);
    follow(seed, BundleFill::kEqual, true);
  }
}

TEST(Bundle, FlowsSetAnewCountWithTheirWeight) {
  Random random(7);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto ports = static_cast<std::uint32_t>(2 + random.below(8));
    Bundle b = random_bundle(random, ports);
    FillScratch scratch;
    for (int step = 0; step < 10; ++step) {
      for (int change = 0; change < 3; ++change) {
        set_flow(b, static_cast<std::uint32_t>(random.below(b.rows)),
                 static_cast<std::uint32_t>(random.below(b.columns)), 1 + 1e6 * random.uniform(),
                 static_cast<double>(1 + random.below(5)));
      }
      PortRoom room = random_room(random, ports);
      const PortRoom before = room;
      give_max_min(b, BundleFill::kEqual, room, scratch);
      expect_max_min(b, BundleFill::kEqual, before);
      const Seconds end = first_end(b);
      std::vector<std::uint32_t> ended;
      if (end < kNever) advance(b, end, ended);
      EXPECT_EQ(ended.empty(), end == kNever);
    }
  }
}

}  // namespace
}  // namespace weft

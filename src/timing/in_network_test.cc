#include "timing/in_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "timing/timing_testing.h"

namespace weft {
namespace {

constexpr double kSwitchSpeed = 12.5e9, kSwitchBytes = 100e6;
constexpr Seconds kSwitchAlpha = 5e-6;

InNetworkSwitch switch_with(std::int64_t slots, SlotSharing sharing = SlotSharing::kStatic) {
  InNetworkSwitch sw;
  sw.slots = slots;
  sw.payload_bytes = 1000;
  sw.rtt = 20e-6;
  sw.timeout = 1e-3;
  sw.sharing = sharing;
  return sw;
}

InNetworkJob job_of(int workers, double bytes = kSwitchBytes) {
  return {workers, bytes, kSwitchSpeed, 2 * kSwitchAlpha, 1};
}

// What is left when no limit binds is what the schedule itself takes on one switch.
TEST(InNetwork, WithoutLimitsItTakesWhatTheScheduleTakes) {
  const collective::Schedule schedule = made("in-network", {.ranks = 8});
  const Topology topology = topology_of("switch:latency=5us,bandwidth=12.5GB/s", 8);
  const Seconds want = run_schedule(task_on(schedule, topology, kSwitchBytes)).time_s;
  for (std::int64_t slots : {std::int64_t{-1}, std::int64_t{250}}) {  // 250: B x RTT / payload
    const InNetworkOutcome out = run_in_network(switch_with(slots), {job_of(8)})[0];
    EXPECT_NEAR(out.time_s, want, 1e-12) << slots;
    EXPECT_EQ(out.limited_by, "line");
    EXPECT_EQ(out.fallback_share, 0);
  }
}

TEST(InNetwork, SlotsLimitTheRateAsTheFormulaSays) {
  const InNetworkOutcome out = run_in_network(switch_with(100), {job_of(4)})[0];
  EXPECT_DOUBLE_EQ(out.slot_limit_bytes_per_s, 100 * 1000 / 20e-6);  // 5 GB/s
  EXPECT_NEAR(out.time_s, 10e-6 + 0.02, 1e-12);
  EXPECT_EQ(out.limited_by, "slots");
}

TEST(InNetwork, WithoutSlotsHostsAddUpEverything) {
  for (SlotSharing sharing : {SlotSharing::kStatic, SlotSharing::kShared}) {
    InNetworkJob job = job_of(8);
    const InNetworkOutcome one = run_in_network(switch_with(0, sharing), {job})[0];
    EXPECT_NEAR(one.time_s, 10e-6 + 8 * kSwitchBytes / kSwitchSpeed, 1e-12) << name_of(sharing);
    EXPECT_NEAR(one.fallback_share, 1, 1e-12);
    EXPECT_EQ(one.limited_by, "fall-back");
    job.fallback_servers = 4;
    EXPECT_NEAR(run_in_network(switch_with(0, sharing), {job})[0].time_s,
                10e-6 + 2 * kSwitchBytes / kSwitchSpeed, 1e-12);
  }
}

// 20 slots carry 1 GB/s; one server of 8 workers 12.5 / 8 = 1.5625 GB/s.
TEST(InNetwork, AJobTakesHostsWhenTheyAreFaster) {
  const InNetworkOutcome out = run_in_network(switch_with(20), {job_of(8)})[0];
  EXPECT_EQ(out.limited_by, "fall-back");
  EXPECT_NEAR(out.bytes_per_s, kSwitchSpeed / 8, 1);
  EXPECT_EQ(run_in_network(switch_with(20), {job_of(16)})[0].limited_by, "slots");
}

TEST(InNetwork, HeadersAndLossTakeTheirPartOfTheLine) {
  InNetworkSwitch sw = switch_with(-1);
  sw.header_bytes = 250;
  sw.loss = 0.01;
  const InNetworkOutcome out = run_in_network(sw, {job_of(4)})[0];
  EXPECT_NEAR(out.bytes_per_s, kSwitchSpeed * 0.8 * 0.99, 1e-3);
}

// Two packets, each lost with probability q: the first is sent again with 1 - (1 - q)^2, and so on.
TEST(InNetwork, TimeoutsLengthenTheCycleOfASlot) {
  const double q = 0.1;
  double by_hand = 0;
  for (int j = 1; j < 40; ++j) by_hand += 1 - std::pow(1 - std::pow(q, j), 2);
  EXPECT_NEAR(expected_timeouts(1, q), by_hand, 1e-12);
  EXPECT_EQ(expected_timeouts(64, 0), 0);
  EXPECT_GT(expected_timeouts(64, 1e-4), expected_timeouts(8, 1e-4));
  InNetworkSwitch sw = switch_with(250);
  sw.loss = 1e-4;
  const InNetworkOutcome out = run_in_network(sw, {job_of(4)})[0];
  const double cycle = 20e-6 + 1e-3 * expected_timeouts(4, 1e-4);
  EXPECT_EQ(out.limited_by, "loss");
  EXPECT_NEAR(out.bytes_per_s, 250 * 1000 / cycle, 1e-3);
}

TEST(InNetwork, StaticPartsAreHalvedSharedOnesFallBack) {
  const std::vector<InNetworkJob> two = {job_of(4), job_of(4)};
  for (const InNetworkOutcome& out : run_in_network(switch_with(250), two)) {
    EXPECT_NEAR(out.bytes_per_s, kSwitchSpeed / 2, 1);
    EXPECT_EQ(out.limited_by, "slots");
  }
  // Each would need 250. A part f finds a slot: 2 f 250 / (f + 4 (1 - f)) = 250, so f = 0.8.
  for (const InNetworkOutcome& out : run_in_network(switch_with(250, SlotSharing::kShared), two)) {
    EXPECT_NEAR(out.fallback_share, 0.2, 1e-9);
    EXPECT_NEAR(out.bytes_per_s, kSwitchSpeed / 1.6, 10);
  }
}

// Both share until the small one has ended; then the other has all it needs.
TEST(InNetwork, SharedSlotsGoToThoseWhoStay) {
  const auto out =
      run_in_network(switch_with(250, SlotSharing::kShared), {job_of(4, 10e6), job_of(4, 100e6)});
  EXPECT_NEAR(out[0].time_s, 10e-6 + 10e6 * 1.6 / kSwitchSpeed, 1e-12);
  EXPECT_NEAR(out[1].time_s, 10e-6 + (10e6 * 1.6 + 90e6) / kSwitchSpeed, 1e-11);
  EXPECT_NEAR(out[1].fallback_share, 0.2 * 0.1, 1e-9);
}

TEST(InNetwork, OnlyOneJobHasAnExclusiveSwitch) {
  const auto out = run_in_network(switch_with(-1, SlotSharing::kExclusive), {job_of(4), job_of(4)});
  EXPECT_NEAR(out[0].time_s, 10e-6 + kSwitchBytes / kSwitchSpeed, 1e-12);
  EXPECT_NEAR(out[1].time_s, 10e-6 + 4 * kSwitchBytes / kSwitchSpeed, 1e-12);
  EXPECT_EQ(out[1].limited_by, "fall-back");
}

TEST(InNetwork, PresetsAreKnownByName) {
  for (const char* name : {"switchml", "atp", "sharp"}) {
    auto preset = in_network_preset(name);
    ASSERT_TRUE(preset.ok());
    EXPECT_FALSE(preset->source.empty());
  }
  auto wrong = in_network_preset("switchlm");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().text().find("did you mean 'switchml'"), std::string::npos);
}

}  // namespace
}  // namespace weft

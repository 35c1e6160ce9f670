#include "policy/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

#include "base/random.h"
#include "policy/policy_testing.h"

namespace weft {
namespace {

// The same book without any index.
struct PlainLedger {
  explicit PlainLedger(const Cluster& cluster_in)
      : cluster(cluster_in),
        available(cluster_in.nodes.size(), true),
        broken(cluster_in.device_count()) {}

  std::uint32_t used(DeviceId device) const {
    std::uint32_t milli = 0;
    for (const auto& [job, held] : jobs) {
      for (const DeviceShare& share : held.devices) {
        if (share.device == device) milli += share.milli;
      }
    }
    return milli;
  }
  std::uint64_t free_mask(NodeId id) const {
    const Node& node = cluster.nodes[id];
    std::uint64_t mask = 0;
    for (DeviceId i = 0; i < node.devices && available[id]; ++i) {
      if (used(node.first_device + i) == 0 && !broken[node.first_device + i])
        mask |= std::uint64_t{1} << i;
    }
    return mask;
  }

  const Cluster& cluster;
  std::vector<bool> available;  // by node
  std::vector<bool> broken;     // by device
  std::map<JobId, Allocation> jobs;
};

void expect_same(const Ledger& ledger, const PlainLedger& plain) {
  const Cluster& cluster = plain.cluster;
  std::uint32_t free_total = 0;
  std::vector<std::uint32_t> free(cluster.types.size()), in_service(cluster.types.size());
  for (NodeId n = 0; n < cluster.nodes.size(); ++n) {
    const std::uint64_t mask = plain.free_mask(n);
    const auto count = static_cast<std::uint32_t>(std::popcount(mask));
    ASSERT_EQ(ledger.free_mask(n), mask) << "node " << n;
    ASSERT_EQ(ledger.free_whole(n), count);
    free[cluster.nodes[n].type] += count;
    free_total += count;
    bool entirely = plain.available[n];
    for (DeviceId i = 0; i < cluster.nodes[n].devices; ++i) {
      const DeviceId d = cluster.nodes[n].first_device + i;
      const bool serves = plain.available[n] && !plain.broken[d];
      in_service[cluster.nodes[n].type] += serves;
      entirely = entirely && serves;
      ASSERT_EQ(ledger.device_in_service(d), serves) << "device " << d;
      ASSERT_EQ(ledger.room_milli(d), serves ? kWhole - plain.used(d) : 0) << "device " << d;
    }
    ASSERT_EQ(ledger.entirely_in_service(n), entirely) << "node " << n;
    const NodeId filed = ledger.index(cluster.nodes[n].type).exact(count, n);
    ASSERT_EQ(filed == n, plain.available[n]) << "node " << n << " is filed wrongly";
  }
  for (TypeId t = 0; t < cluster.types.size(); ++t) {
    ASSERT_EQ(ledger.free_whole_of(t), free[t]);
    ASSERT_EQ(ledger.in_service(t), in_service[t]);
  }
  ASSERT_EQ(ledger.free_whole_total(), free_total);
  double held = 0;
  std::map<NodeId, std::uint32_t> cpu;
  for (const auto& [job, allocation] : plain.jobs) {
    held += allocation.device_count();
    for (const HostShare& host : allocation.hosts) cpu[host.node] += host.cpu_milli;
  }
  ASSERT_DOUBLE_EQ(ledger.held(), held);
  for (NodeId n = 0; n < cluster.nodes.size(); ++n) ASSERT_EQ(ledger.used_cpu_milli(n), cpu[n]);
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    ASSERT_EQ(ledger.used_milli(d), plain.used(d));
    std::vector<JobId> users = ledger.users(d), want;
    std::sort(users.begin(), users.end());
    for (const auto& [job, allocation] : plain.jobs) {
      for (const DeviceShare& share : allocation.devices) {
        if (share.device == d) want.push_back(job);
      }
    }
    ASSERT_EQ(users, want) << "device " << d;
  }
}

Allocation random_allocation(Random& random, const PlainLedger& plain) {
  Allocation allocation;
  for (DeviceId d = 0; d < plain.cluster.device_count(); ++d) {
    const std::uint32_t room = kWhole - plain.used(d);
    if (room < 250 || !random.chance(0.15)) continue;
    const bool whole = room == kWhole && random.chance(0.5);
    allocation.devices.push_back({d, static_cast<std::uint16_t>(whole ? kWhole : 250), 0,
                                  random.chance(0.3) ? Bytes{1} << 30 : 0});
    const NodeId node = plain.cluster.node_of(d);
    if (allocation.hosts.empty() || allocation.hosts.back().node != node) {
      allocation.hosts.push_back({.node = node, .cpu_milli = 500});
    }
  }
  return allocation;
}

TEST(Ledger, AgreesWithAPlainBookUnderRandomTakingAndGiving) {
  const Cluster cluster = small_cluster("a:3x4,b:2x8,c:1x1");
  Random random(5);
  Ledger ledger(cluster);
  PlainLedger plain(cluster);
  for (JobId step = 0; step < 1500; ++step) {
    const double what = random.uniform();
    if (what < 0.15) {
      const auto node = static_cast<NodeId>(random.below(cluster.nodes.size()));
      plain.available[node] = random.chance(0.6);
      ledger.set_available(node, plain.available[node]);
    } else if (what < 0.3) {
      const auto device = static_cast<DeviceId>(random.below(cluster.device_count()));
      plain.broken[device] = random.chance(0.4);
      ledger.set_device_available(device, !plain.broken[device]);
    } else if (what < 0.65) {
      Allocation allocation = random_allocation(random, plain);
      if (allocation.empty()) continue;
      ledger.take(step, allocation);
      plain.jobs[step] = std::move(allocation);
    } else if (!plain.jobs.empty()) {
      auto victim = plain.jobs.begin();
      std::advance(victim, static_cast<long>(random.below(plain.jobs.size())));
      ledger.give(victim->first, victim->second);
      plain.jobs.erase(victim);
    }
    expect_same(ledger, plain);
    Ledger as_if_free(cluster);
    as_if_free.copy_outages(ledger);
    for (TypeId t = 0; t < cluster.types.size(); ++t) {
      ASSERT_EQ(as_if_free.free_whole_of(t), ledger.in_service(t));
    }
    if (testing::Test::HasFatalFailure()) FAIL() << "at step " << step;
  }
}

TEST(Ledger, MemoryOfSharedDevicesAddsUp) {
  const Cluster cluster = small_cluster("1x2");
  Ledger ledger(cluster);
  Allocation half;
  half.devices = {{1, 500, 0, 6 * kGiB}};
  ledger.take(7, half);
  ledger.take(8, half);
  EXPECT_EQ(ledger.used_memory(1), 12 * kGiB);
  EXPECT_EQ(ledger.users(1), (std::vector<JobId>{7, 8}));
  ledger.give(7, half);
  EXPECT_EQ(ledger.used_memory(1), 6 * kGiB);
  EXPECT_EQ(ledger.free_whole(0), 1u);
}

TEST(Ledger, RoomIsAlsoBesideTheDevices) {
  Cluster cluster = small_cluster("1x2");
  cluster.nodes[0].cpu_milli = 6000;
  cluster.nodes[0].memory = 8 * kGiB;
  Ledger ledger(cluster);
  Allocation first, second;
  first.devices = {{0}};
  first.hosts = {{.node = 0, .cpu_milli = 4000, .memory = 4 * kGiB}};
  ledger.take(7, first);
  second.devices = {{1}};
  second.hosts = {{.node = 0, .cpu_milli = 2000, .memory = 4 * kGiB}};
  EXPECT_TRUE(ledger.has_room(second));
  second.hosts[0].cpu_milli = 2001;
  EXPECT_FALSE(ledger.has_room(second));
  second.hosts[0] = {.node = 0, .cpu_milli = 2000, .memory = 4 * kGiB + 1};
  EXPECT_FALSE(ledger.has_room(second));
}

TEST(LedgerDeathTest, AbortsRatherThanGiveADeviceTwice) {
  const Cluster cluster = small_cluster("1x2");
  Allocation one, most;
  one.devices = {{0}};
  most.devices = {{0, 600}};
  const auto twice = [&](const Allocation& a, const Allocation& b) {
    Ledger ledger(cluster);
    ledger.take(1, a);
    ledger.take(2, b);
  };
  EXPECT_DEATH(twice(one, one), "given twice");
  EXPECT_DEATH(twice(most, most), "given twice");
  EXPECT_DEATH(twice(most, one), "given twice");
  EXPECT_DEATH(
      {
        Ledger ledger(cluster);
        ledger.give(1, one);
      },
      "given back twice");
  EXPECT_DEATH(
      {
        Ledger ledger(cluster);
        ledger.take(1, most);
        ledger.give(2, most);
      },
      "does not hold");
}

}  // namespace
}  // namespace weft

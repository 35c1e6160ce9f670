#include "planner/exchange.h"

#include <algorithm>
#include <cmath>

namespace weft::planner {
namespace {

// Share of a node's link that a ring of n loses to n (fitted to all-reduces on 2, 4 and 8 devices).
constexpr double kRingLoss = 0.3;
// A tree's step costs two of a ring's, and it moves data at this share of a ring's rate.
constexpr double kTreeRate = 0.75;
constexpr Seconds kSendLatency = 30e-6;
// Computation beside an exchange takes 1.126 times as long (measured by Galvatron's profiler).
constexpr double kOverlapSlowdown = 0.126;

double link_rate(const Device& d, int members) {
  return d.link_bytes_per_s * (1 - kRingLoss / members);
}

// What a ring that leaves the node moves: its members there have a share of the cards each.
double ring_rate(const Machines& m, Group g) {
  return std::min(link_rate(m.device, g.members), m.device_network_bytes_per_s() * g.per_node);
}

bool inside(Group g) { return g.per_node >= g.members; }

// `passes` 2: an all-reduce; 1: a gather or a reduce-scatter.
Seconds ring_seconds(const Machines& m, Group g, double bytes, int passes) {
  if (g.members <= 1) return 0;
  const double n = g.members;
  const double moved = passes * (n - 1) / n * bytes;
  if (inside(g)) {
    const Device& d = m.device;
    const Seconds ring = d.link_base_s + n * d.link_rank_s + moved / link_rate(d, g.members);
    return std::max(n * d.link_floor_s, ring);
  }
  const double rate = ring_rate(m, g);
  const Seconds ring = passes * (n - 1) * m.network.latency_s + moved / rate;
  const Seconds tree = passes * 2 * std::ceil(std::log2(n)) * m.network.latency_s +
                       passes * bytes / (rate * kTreeRate);
  return std::min(ring, tree);
}

}  // namespace

Seconds all_reduce_seconds(const Machines& m, Group g, double bytes) {
  return ring_seconds(m, g, bytes, 2);
}

Seconds gather_seconds(const Machines& m, Group g, double bytes) {
  return ring_seconds(m, g, bytes, 1);
}

Seconds all_to_all_seconds(const Machines& m, Group g, double bytes) {
  if (g.members <= 1) return 0;
  const double n = g.members;
  const Device& d = m.device;
  const double away = bytes * std::max(0.0, n - g.per_node) / n;
  const double near = bytes * (std::min<double>(n, g.per_node) - 1) / n;
  const Seconds start = d.link_base_s + (inside(g) ? 0 : m.network.latency_s * n / g.per_node);
  return start + std::max(near / link_rate(d, 2), away / m.device_network_bytes_per_s());
}

Seconds send_seconds(const Machines& m, bool same_node, double bytes) {
  const double rate = same_node ? link_rate(m.device, 2) : m.device_network_bytes_per_s();
  return kSendLatency + bytes / rate;
}

Seconds exposed_seconds(Seconds exchange, Seconds beside) {
  const Seconds hidden = std::min(exchange, beside);
  return exchange - hidden + kOverlapSlowdown * hidden;
}

}  // namespace weft::planner

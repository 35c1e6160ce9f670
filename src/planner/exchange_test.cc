#include "planner/exchange.h"

#include <fmt/core.h>

#include <algorithm>

#include "collective/algorithms.h"
#include "planner/planner_testing.h"
#include "timing/schedule_run.h"

namespace weft::planner {
namespace {

// Eight A100 of a node on NVLink, eight cards of 25 GB/s, with the rates that the closed forms have
// measured: 22 GB/s of a card, and `link` of NVLink.
std::string a100_network(const char* kind, int nodes, double link) {
  return fmt::format(
      "a100:nodes={},network={},nvlink_bandwidth={}GB/s,bandwidth=22GB/s,latency=2.4us", nodes,
      kind, link / 1e9);
}

// The executed schedule of `members` ranks, `per_node` in each node.
Seconds executed(const char* algorithm, const std::string& network, Group group, double bytes,
                 int chunks = 1) {
  const auto topology = read_topology(network);
  EXPECT_TRUE(topology.ok()) << (topology.ok() ? "" : topology.error().text());
  collective::Request request;
  request.ranks = group.members;
  request.per_node = group.per_node;
  request.chunks = chunks;
  const auto schedule = collective::generate(algorithm, request);
  EXPECT_TRUE(schedule.ok()) << (schedule.ok() ? "" : schedule.error().text());
  ScheduleTask task;
  task.schedule = &*schedule;
  task.topology = &*topology;
  task.bytes = bytes;
  for (int rank = 0; rank < group.members; ++rank) {
    const int node = rank / group.per_node, place = rank % group.per_node;
    task.placement.vertex.push_back(static_cast<VertexId>(8 * node + place));
  }
  return run_schedule(task).time_s;
}

constexpr double kMB = 1e6;

// Rings on the named networks, executed step by step, against the closed forms. What these have
// from measurements beyond bandwidth and steps (35 us to begin in a node) shows in small sizes.
TEST(ExchangeOnFabric, ClosedFormsAreTheExecutedRings) {
  const Machines machines = a100();
  const struct {
    const char* what;
    const char* network;
    Group group;
    double bytes, tolerance;
  } rows[] = {
      {"two on NVLink", "rail", {2, 2}, 256 * kMB, 0.04},
      {"four on NVLink", "rail", {4, 4}, 256 * kMB, 0.03},
      {"a node on NVLink", "rail", {8, 8}, 256 * kMB, 0.03},
      {"16 nodes, one rank each, on a rail", "rail", {16, 1}, 256 * kMB, 0.02},
      {"64 nodes, one rank each, on a rail", "rail", {64, 1}, 256 * kMB, 0.03},
      {"64 nodes, one rank each, by a Clos network", "clos", {64, 1}, 256 * kMB, 0.04},
  };
  for (const auto& row : rows) {
    const int nodes = row.group.members / row.group.per_node;
    const double link = machines.device.link_bytes_per_s * (1 - 0.3 / row.group.members);
    const Seconds ring =
        executed("ring", a100_network(row.network, nodes, link), row.group, row.bytes);
    EXPECT_NEAR(all_reduce_seconds(machines, row.group, row.bytes) / ring, 1, row.tolerance)
        << row.what;
  }
}

// Where steps cost more than bytes, the faster of ring and tree.
TEST(ExchangeOnFabric, SmallOnesAcrossManyNodesTakeATree) {
  const Machines machines = a100();
  const Group group{64, 1};
  const std::string network = a100_network("rail", 64, 225 * kGB);
  for (const double bytes : {0.1 * kMB, 1 * kMB}) {
    const Seconds ring = executed("ring", network, group, bytes);
    Seconds tree = kNever;
    for (const int chunks : {1, 4, 16, 64}) {
      tree = std::min(tree, executed("double-binary-tree", network, group, bytes, chunks));
    }
    EXPECT_LT(tree, ring);
    const Seconds formula = all_reduce_seconds(machines, group, bytes);
    EXPECT_LT(formula, ring);
    EXPECT_NEAR(formula / tree, 1, 0.35) << bytes;
  }
}

// Libraries run a ring per card through the node, so that NVLink and cards work at once. Phases one
// after the other take longer, the cards alone less.
TEST(ExchangeOnFabric, WholeNodesLieBetweenTheCardsAloneAndPhasesOneAfterTheOther) {
  const Machines machines = a100();
  for (const int nodes : {2, 8}) {
    const Group group{8 * nodes, 8};
    const double bytes = kGB;
    const Seconds phases =
        executed("hierarchical", a100_network("rail", nodes, 216 * kGB), group, bytes);
    const double cards = 2.0 * (nodes - 1) / nodes * bytes / (8 * 22 * kGB);
    const Seconds formula = all_reduce_seconds(machines, group, bytes);
    EXPECT_LT(formula, phases) << nodes;
    EXPECT_GT(formula, 0.55 * phases) << nodes;
    EXPECT_GT(formula, cards) << nodes;
  }
}

}  // namespace
}  // namespace weft::planner

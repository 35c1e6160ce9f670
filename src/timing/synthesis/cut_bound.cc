#include "timing/synthesis/cut_bound.h"

#include <algorithm>

#include "fabric/max_flow.h"
#include "timing/synthesis/spanning.h"

namespace weft {
namespace {

using collective::Operation;

// A group of ranks and the most that can flow into it from the other ranks, and out of it.
struct CutGroup {
  std::vector<VertexId> members;
  double in = 0, out = 0;  // bytes per second; of all ranks together 0
};

CutGroup group_of(const RankGraph& graph, std::vector<VertexId> members) {
  std::vector<bool> inside(static_cast<std::size_t>(graph.ranks()), false);
  for (const VertexId v : members) inside[v] = true;
  std::vector<VertexId> others;
  for (VertexId v = 0; v < inside.size(); ++v) {
    if (!inside[v]) others.push_back(v);
  }
  CutGroup group{std::move(members)};
  if (others.empty()) return group;
  group.in = max_flow(graph.topology(), others, group.members);
  group.out = max_flow(graph.topology(), group.members, others);
  return group;
}

double bound_of(const CutGroup& group, Operation operation, double ranks) {
  if (group.in <= 0) return 0;
  const double inside = static_cast<double>(group.members.size()) / ranks;
  const double outside = 1 - inside;
  switch (operation) {
    case Operation::kAllGather:
      return std::max(outside / group.in, inside / group.out);
    case Operation::kReduceScatter:
      return std::max(inside / group.in, outside / group.out);
    default:
      return std::max(1 / group.in, 1 / group.out);
  }
}

// Of all-reduce, for groups that make up all ranks.
double partition_bound(const std::vector<CutGroup>& groups) {
  double in = 0, out = 0, parts = 0;
  for (const CutGroup& group : groups) {
    if (group.members.empty()) continue;
    in += group.in;
    out += group.out;
    parts += 1;
  }
  return parts < 2 ? 0 : 2 * (parts - 1) / std::min(in, out);
}

double from_or_to_root(const RankGraph& graph, bool from_root, VertexId root) {
  double least = 0;
  for (VertexId v = 0; v < static_cast<VertexId>(graph.ranks()); ++v) {
    if (v == root) continue;
    const double flow = from_root ? max_flow(graph.topology(), {root}, std::vector<VertexId>{v})
                                  : max_flow(graph.topology(), {v}, std::vector<VertexId>{root});
    least = std::max(least, 1 / flow);
  }
  return least;
}

}  // namespace

double least_s_per_byte(const RankGraph& graph, Operation operation, int root,
                        const std::vector<double>& length) {
  if (operation == Operation::kBroadcast || operation == Operation::kReduce) {
    return from_or_to_root(graph, operation == Operation::kBroadcast, static_cast<VertexId>(root));
  }
  const int ranks = graph.ranks();
  double least = 0;
  std::vector<CutGroup> groups;     // an emptied one has joined another
  std::vector<std::size_t> member;  // by rank: its group
  for (int r = 0; r < ranks; ++r) {
    groups.push_back(group_of(graph, {static_cast<VertexId>(r)}));
    member.push_back(static_cast<std::size_t>(r));
    least = std::max(least, bound_of(groups.back(), operation, ranks));
  }
  const auto whole = [&] {
    if (operation == Operation::kAllReduce) least = std::max(least, partition_bound(groups));
  };
  whole();
  PerPair cost = graph.distances(length);
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < a; ++b) cost.at(a, b) = cost.at(b, a) = cost.at(a, b) + cost.at(b, a);
  }
  for (const auto& [a, b] : joining_order(cost)) {
    const std::size_t into = member[static_cast<std::size_t>(a)];
    const std::size_t from = member[static_cast<std::size_t>(b)];
    std::vector<VertexId> all = std::move(groups[into].members);
    all.insert(all.end(), groups[from].members.begin(), groups[from].members.end());
    groups[from] = {};
    groups[into] = group_of(graph, std::move(all));
    for (const VertexId v : groups[into].members) member[v] = into;
    least = std::max(least, bound_of(groups[into], operation, ranks));
    whole();
  }
  return least;
}

}  // namespace weft

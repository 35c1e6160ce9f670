#include "timing/synthesis/synthesise.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "collective/packed_trees.h"
#include "collective/verify.h"
#include "timing/synthesis/cut_bound.h"

namespace weft {
namespace {

using collective::Operation;

// Numbers of trees tried, of each root where every rank is one: up to 32, not all of them where
// there are many ranks.
constexpr int kMaxUnits = 32;
constexpr int kFewRanks = 16;
constexpr int kMaxTrees = 256;
constexpr int kMostChunks = 512;
constexpr double kMostPlannedMessages = 400'000;
constexpr std::size_t kWorthTiming = 3;  // numbers of pieces
constexpr double kWorthwhile = 0.97;     // more trees have to cut the congestion to this part

bool scattered(Operation operation) {
  return operation == Operation::kAllGather || operation == Operation::kReduceScatter;
}

int height_of(const Packing& packing) {
  int height = 0;
  for (const auto& parents : packing.parents) {
    height = std::max(height, collective::tree_of_parents(parents).height);
  }
  return height;
}

}  // namespace

std::string synthesis_refusal(const collective::Request& request, const Topology& topology) {
  const Operation op = request.operation;
  if (op == Operation::kAllToAll || op == Operation::kBarrier) {
    return fmt::format("trees carry no {}", name_of(op));
  }
  if (request.ranks < 2 || request.ranks > kMaxSynthesisRanks) {
    return fmt::format("ranks is {}; schedules are made for 2 .. {}", request.ranks,
                       kMaxSynthesisRanks);
  }
  if (request.root < 0 || request.root >= request.ranks) {
    return fmt::format("root is {}; it must lie in 0 .. {}", request.root, request.ranks - 1);
  }
  constexpr std::size_t kMostLinks = 65'536;
  if (topology.links.size() > kMostLinks) {
    return fmt::format("the topology has {} links; schedules are made for {} at most",
                       topology.links.size(), kMostLinks);
  }
  return "";
}

Synthesis synthesise(const collective::Request& request, const Topology& topology) {
  Synthesis out;
  out.operation = request.operation;
  const RankGraph graph(topology, request.ranks);
  std::vector<double> even;
  for (const DirectedLink& link : topology.links) even.push_back(1 / link.bytes_per_s);
  out.least_s_per_byte = least_s_per_byte(graph, request.operation, request.root, even);
  PackingTask task{&graph, request.operation, request.root, 1, out.least_s_per_byte};
  for (int units = 1; units <= kMaxUnits;
       units += request.ranks <= kFewRanks ? 1 : std::max(1, units / 2)) {
    const int trees = scattered(request.operation) ? units * request.ranks : units;
    if (trees > kMaxTrees && !out.packings.empty()) break;
    task.units = units;
    Packing packing = pack_trees(task);
    if (!out.packings.empty() &&
        packing.s_per_byte > kWorthwhile * out.packings.back().s_per_byte) {
      continue;
    }
    out.packings.push_back(std::move(packing));
    if (out.packings.back().s_per_byte < out.least_s_per_byte * (1 + 1e-9)) break;
  }
  out.least_s_per_byte = std::max(
      out.least_s_per_byte,
      least_s_per_byte(graph, request.operation, request.root, out.packings.back().length));
  return out;
}

collective::Schedule synthesised_schedule(const Synthesis& synthesis, std::size_t packing,
                                          int chunks) {
  const Packing& packed = synthesis.packings[packing];
  std::vector<collective::PackedTree> trees;
  for (std::size_t t = 0; t < packed.parents.size(); ++t) {
    trees.push_back({collective::tree_of_parents(packed.parents[t]), packed.weight[t]});
  }
  collective::Schedule schedule =
      along_trees(synthesis.operation, std::string(kSynthesised), trees, chunks);
  CHECK(collective::verify(schedule).ok());
  return schedule;
}

// A tree of height h has h - 1 + k rounds, or 2h - 1 + k up and down; a round takes the longest
// latency and 1/k of what the fullest link needs.
std::vector<int> promising_chunks(const Packing& packing, const Topology& topology,
                                  Operation operation, double bytes) {
  const auto ranks = static_cast<int>(packing.parents.front().size());
  const RankGraph graph(topology, ranks);
  Seconds latency = 0;
  for (const auto& parents : packing.parents) {
    for (int v = 0; v < ranks; ++v) {
      const int parent = parents[static_cast<std::size_t>(v)];
      if (parent >= 0) latency = std::max(latency, graph.latency(parent, v));
    }
  }
  const bool twice = operation == Operation::kAllReduce;
  const double rounds = height_of(packing) * (twice ? 2 : 1) - 1;
  const double a_chunk = packing.trees() * (ranks - 1.0) * (twice ? 2 : 1);
  std::vector<std::pair<double, int>> found;
  for (int k = 1; k <= kMostChunks && (k == 1 || a_chunk * k <= kMostPlannedMessages); k *= 2) {
    found.emplace_back((rounds + k) * (latency + bytes * packing.s_per_byte / k), k);
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min(found.size(), kWorthTiming));
  std::vector<int> chunks;
  for (const auto& [time, k] : found) chunks.push_back(k);
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

}  // namespace weft

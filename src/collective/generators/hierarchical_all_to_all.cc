#include "collective/builder.h"
#include "collective/generators.h"
#include "collective/pair_weights.h"

namespace weft::collective {
namespace {

struct Seat {
  int node;
  int local;
};

// Inside the node first: rank (node, local) collects what its node-mates have for the ranks of
// number `local` in all nodes; scratch cell mate * nodes + n is what `mate` has for node n.
void collect(Seat at, int nodes, int per_node, Rounds& rounds) {
  const auto for_local = [&](int local) {
    return Cells{.base = local, .modulus = nodes * per_node, .count = nodes, .step = per_node};
  };
  const auto from_mate = [&](int mate) { return range(Buffer::kScratch, mate * nodes, nodes); };
  rounds.push_back({.ops = {copy(for_local(at.local), from_mate(at.local))}});
  for (int i = 1; i < per_node; ++i) {
    const int next = (at.local + i) % per_node;
    const int prev = (at.local - i + per_node) % per_node;
    rounds.push_back({.ops = {send(to(at.node * per_node + next), for_local(next)),
                              receive(to(at.node * per_node + prev), from_mate(prev))}});
  }
}

// Then along the rail: everything for another node in one message.
void exchange(Seat at, int nodes, int per_node, Rounds& rounds) {
  const auto for_node = [&](int node) {
    return Cells{.buffer = Buffer::kScratch,
                 .base = node,
                 .modulus = nodes * per_node,
                 .count = per_node,
                 .step = nodes};
  };
  const auto from_node = [&](int node) {
    return range(Buffer::kOutput, node * per_node, per_node);
  };
  rounds.push_back({.ops = {copy(for_node(at.node), from_node(at.node))}});
  for (int i = 1; i < nodes; ++i) {
    const int next = (at.node + i) % nodes;
    const int prev = (at.node - i + nodes) % nodes;
    rounds.push_back({.ops = {send(to(next * per_node + at.local), for_node(next)),
                              receive(to(prev * per_node + at.local), from_node(prev))}});
  }
}

}  // namespace

Schedule hierarchical_all_to_all(const Request& request) {
  const int p = request.ranks;
  const int per_node = request.per_node == 0 ? p : request.per_node;
  const int nodes = p / per_node;
  Schedule schedule = make_all_to_all("hierarchical", request);
  for (int r = 0; r < p; ++r) {
    const Seat at{r / per_node, r % per_node};
    Program& program = schedule.programs[static_cast<std::size_t>(r)];
    program.scratch.count = p;
    for (int cell = 0; cell < p && !request.pair_weights.empty(); ++cell) {
      const int source = at.node * per_node + cell / nodes;
      const int target = cell % nodes * per_node + at.local;
      program.scratch.list.push_back(schedule.chunks.at(std::int64_t{source} * p + target));
    }
    collect(at, nodes, per_node, program.streams[0]);
    exchange(at, nodes, per_node, program.streams[0]);
  }
  return schedule;
}

}  // namespace weft::collective

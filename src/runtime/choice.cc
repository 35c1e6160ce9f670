#include "runtime/choice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

namespace weft::runtime {
namespace {

using collective::Operation;

int log2_up(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

// Closed forms: rounds, bytes each rank sends, bytes each rank adds (docs/collectives.md).
struct Cost {
  double rounds = 0, moved = 0, added = 0;
};

Seconds time_of(const Cost& cost, const LinkCosts& links) {
  return cost.rounds * links.message_s + cost.moved / links.bytes_per_s +
         cost.added / links.reduce_bytes_per_s;
}

struct Row {
  Operation operation;
  const char* algorithm;
  bool (*serves)(const GroupShape&);
  Cost (*cost)(double n, double p);
};

bool always(const GroupShape&) { return true; }
bool few(const GroupShape& shape) { return shape.ranks <= 16; }
bool power(const GroupShape& shape) {
  return std::has_single_bit(static_cast<unsigned>(shape.ranks));
}
bool hosts(const GroupShape& shape) { return !shape.one_host && shape.per_host > 1; }
double log_of(double p) { return log2_up(static_cast<int>(p)); }

const Row kRows[] = {
    // Comparing calls first costs log2 p rounds in all but the exchange.
    {Operation::kAllReduce, "exchange", few,
     [](double n, double p) {
       return Cost{1, n * (p - 1), n * p};
     }},
    {Operation::kAllReduce, "halving-doubling", power,
     [](double n, double p) {
       return Cost{3 * log_of(p), 2 * n * (p - 1) / p, n * (p - 1) / p};
     }},
    {Operation::kAllReduce, "ring", always,
     [](double n, double p) {
       return Cost{log_of(p) + 2 * (p - 1), 2 * n * (p - 1) / p, n * (p - 1) / p};
     }},
    {Operation::kAllReduce, "hierarchical", hosts,
     [](double n, double p) {
       return Cost{log_of(p) + 2 * std::sqrt(p), 1.2 * n * (p - 1) / p, n * (p - 1) / p};
     }},
    {Operation::kReduceScatter, "ring", always,
     [](double n, double p) {
       return Cost{log_of(p) + p - 1, n * (p - 1) / p, n * (p - 1) / p};
     }},
    {Operation::kReduceScatter, "halving-doubling", power,
     [](double n, double p) {
       return Cost{2 * log_of(p), 1.1 * n * (p - 1) / p, n * (p - 1) / p};
     }},
    {Operation::kAllGather, "ring", always,
     [](double n, double p) {
       return Cost{log_of(p) + p - 1, n * (p - 1) / p, 0};
     }},
    {Operation::kAllGather, "bruck", always,
     [](double n, double p) {
       return Cost{2 * log_of(p), 1.1 * n * (p - 1) / p, 0};
     }},
    {Operation::kBroadcast, "binomial", always,
     [](double n, double p) {
       return Cost{2 * log_of(p), n * log_of(p), 0};
     }},
    {Operation::kBroadcast, "chain", always,
     [](double n, double p) {
       return Cost{log_of(p) + p - 1, 1.1 * n, 0};
     }},
    {Operation::kReduce, "binomial", always,
     [](double n, double p) {
       return Cost{2 * log_of(p), n * log_of(p), n * log_of(p)};
     }},
    {Operation::kReduce, "chain", always,
     [](double n, double p) {
       return Cost{log_of(p) + p - 1, 1.1 * n, n};
     }},
    {Operation::kAllToAll, "direct", always,
     [](double n, double p) {
       return Cost{log_of(p) + p - 1, n * (p - 1) / p, 0};
     }},
    {Operation::kAllToAll, "bruck", always,
     [](double n, double p) {
       return Cost{2 * log_of(p), n * log_of(p) / 2, 0};
     }},
    {Operation::kBarrier, "dissemination", always,
     [](double, double p) {
       return Cost{log_of(p), 0, 0};
     }},
};

}  // namespace

LinkCosts shared_memory_costs() { return {}; }
LinkCosts tcp_costs() { return {60e-6, 1e9, 30e9}; }

// In a ring every rank hears from one other, so that nothing collides on the way in. Where several
// send to one at a time a part of the link's time is lost: 64 MB over 4 hosts of 200 Mbit/s took
// 4.32 s by ring, 4.57 s by halving-doubling, 4.61 s directly.
constexpr double kCollisions = 1.08;

Choice choose(collective::Operation operation, double bytes, const GroupShape& shape) {
  Choice choice;
  choice.expected_s = kNever;
  for (const Row& row : kRows) {
    if (row.operation != operation || !row.serves(shape)) continue;
    Cost cost = row.cost(bytes, shape.ranks);
    if (!shape.one_host && std::string_view(row.algorithm) != "ring") cost.moved *= kCollisions;
    const Seconds expected = time_of(cost, shape.costs);
    choice.considered.push_back({row.algorithm, expected});
    if (expected < choice.expected_s) {
      choice.expected_s = expected;
      choice.algorithm = row.algorithm;
    }
  }
  // Slices keep what is under way in the cache, and let a round of one overlap that of another; a
  // slice should still be large against the cost of a message.
  const double least = 8 * shape.costs.message_s * shape.costs.bytes_per_s * shape.ranks;
  const double target = shape.one_host ? 512.0 * 1024 : 1024.0 * 1024;
  if (choice.algorithm != "exchange") {
    choice.slice_bytes = static_cast<std::size_t>(std::max(least, target));
  }
  return choice;
}

}  // namespace weft::runtime

#include "sync/cost.h"

#include <fmt/core.h>

#include <algorithm>

#include "sync/mixing.h"

namespace weft::sync {
namespace {

// Sent by each rank for one average over `ranks`.
double ring_bytes(double ranks, double bytes) { return 2 * (ranks - 1) / ranks * bytes; }

SyncCost server_cost(const Mode& mode, double ranks, double servers, double bytes) {
  SyncCost cost;
  cost.exchanges = 1.0 / mode.period;
  // A rank pushes to all shards but its own and answers all ranks but itself.
  const double pushed = bytes * (1 - 1 / servers), answered = (ranks - 1) * bytes / servers;
  cost.peak_bytes = ranks > servers ? std::max(bytes, pushed + answered) : pushed + answered;
  cost.busiest_bytes = cost.peak_bytes * cost.exchanges;
  cost.sent_bytes = ring_bytes(ranks, bytes) * cost.exchanges;
  cost.waits_for_all = mode.bound != kUnbounded;  // backup workers have no bound
  return cost;
}

SyncCost neighbour_cost(const Mode& mode, std::uint32_t ranks, double bytes) {
  SyncCost cost;
  cost.exchanges = 1.0 / mode.period;
  const auto targets = static_cast<double>(mixing_row(mode.graph, ranks, 0).size() - 1);
  cost.peak_bytes = targets * bytes;
  cost.sent_bytes = cost.busiest_bytes = cost.peak_bytes * cost.exchanges;
  cost.waits_for_all = false;
  return cost;
}

}  // namespace

SyncCost sync_cost(const Mode& mode, std::uint32_t ranks, std::uint32_t servers, double bytes) {
  CHECK(ranks >= 1 && servers >= 1 && servers <= ranks && bytes >= 0);
  if (mode.exchange == Exchange::kServers) return server_cost(mode, ranks, servers, bytes);
  if (mode.exchange == Exchange::kNeighbours) return neighbour_cost(mode, ranks, bytes);
  SyncCost cost;
  const double vectors = mode.control ? 2 : 1;
  cost.peak_bytes = ring_bytes(ranks, vectors * bytes / mode.fragments);
  cost.exchanges = static_cast<double>(mode.fragments) / mode.period;
  cost.sent_bytes = cost.peak_bytes * cost.exchanges;
  if (mode.group > 0) {
    const double inner = 1.0 / mode.inner - 1.0 / mode.period;
    cost.group_bytes = ring_bytes(std::min(mode.group, ranks), bytes) * inner;
    cost.sent_bytes += cost.group_bytes;
    cost.exchanges += inner;
  }
  cost.busiest_bytes = cost.sent_bytes;
  cost.hidden_steps = mode.eager ? mode.period : mode.overlap;
  cost.at_most = mode.threshold > 0;
  return cost;
}

namespace {

// Steps of bsp to a loss over steps of this mode to the same loss, 4 ranks (docs/sync.md).
struct LocalRow {
  std::uint32_t period;
  std::optional<double> sgd;
  double adaptive;
};
constexpr LocalRow kLocalRows[] = {
    {2, 0.98, 0.82}, {4, 0.47, 0.82}, {8, 0.35, 0.77}, {16, {}, 0.72}, {32, {}, 0.62}};

std::optional<SyncEfficiency> local_efficiency(const Mode& mode, std::optional<bool> adaptive) {
  if (mode_text(mode) != mode_text(*parse_mode(fmt::format("local:period={}", mode.period)))) {
    return std::nullopt;
  }
  for (const LocalRow& row : kLocalRows) {
    if (row.period != mode.period) continue;
    if (!row.sgd && !adaptive.value_or(false)) return std::nullopt;
    const bool adam = adaptive.value_or(row.adaptive < row.sgd);
    return SyncEfficiency{adam ? row.adaptive : *row.sgd,
                          adam ? "measured: a digits classifier with AdamW"
                               : "measured: a perceptron of 4 layers with SGD"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<SyncEfficiency> sync_efficiency(const Mode& mode, std::uint32_t ranks,
                                              std::optional<bool> adaptive) {
  if (mode.exchange == Exchange::kGradients) return SyncEfficiency{1, "the measure of the others"};
  if (mode.backup > 0) {
    const double used = ranks > mode.backup ? ranks - mode.backup : 1;
    return SyncEfficiency{used / ranks, "examples that count, by definition"};
  }
  if (mode.name == "local") return local_efficiency(mode, adaptive);
  constexpr std::uint32_t kPeriod = 500, kRanks = 8;
  if (mode.name == "diloco" && mode.overlap == 0 && !mode.eager && mode.fragments == 1 &&
      mode.codec.empty() && mode.period <= kPeriod && ranks <= kRanks) {
    return SyncEfficiency{1,
                          fmt::format("Douillard et al. 2023: as good as synchronous training of a "
                                      "language model, up to {} ranks and a period of {}",
                                      kRanks, kPeriod)};
  }
  return std::nullopt;
}

}  // namespace weft::sync

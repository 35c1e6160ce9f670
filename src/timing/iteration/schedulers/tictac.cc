// TicTac (Hashemi et al., MLSys '19): whole tensors in an order found from the graph of
// computations, handed to the network one at a time.
#include <algorithm>

#include "flow/transfer_order.h"
#include "timing/iteration/schedulers/schedulers.h"

namespace weft {
namespace {

// The transfers that begin a way (not those that follow another) and the computations behind them.
struct Uses {
  std::vector<std::uint32_t> transfers;  // ops
  std::vector<Seconds> seconds;          // of each, at the full rate of its wire
  std::vector<Waiting> computations;
};

Uses find_uses(const IterationGraph& graph) {
  Uses uses;
  std::vector<std::uint32_t> number(graph.ops.size(), kNoOp);
  // By op: the transfers it needs, directly or through others.
  std::vector<std::vector<std::uint32_t>> needed(graph.ops.size());
  for (std::uint32_t i = 0; i < graph.ops.size(); ++i) {
    const IterationOp& op = graph.ops[i];
    std::vector<std::uint32_t>& own = needed[i];
    for (std::uint32_t need : op.needs) {
      own.insert(own.end(), needed[need].begin(), needed[need].end());
    }
    if (op.follows != kNoOp) own = needed[op.follows];
    if (op.is_transfer && op.follows == kNoOp) {
      const IterationWire& wire = graph.wires[op.place];
      number[i] = static_cast<std::uint32_t>(uses.transfers.size());
      own.push_back(number[i]);
      uses.transfers.push_back(i);
      uses.seconds.push_back(op.amount * wire.factor / wire.bytes_per_s);
    }
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    if (!op.is_transfer && !own.empty()) uses.computations.push_back({op.amount, own});
  }
  return uses;
}

TransferPlan plan_order(const IterationGraph& graph, const Uses& uses,
                        const std::vector<std::uint32_t>& order) {
  std::vector<double> keys(graph.ops.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    keys[uses.transfers[order[place]]] = static_cast<double>(place);
  }
  TransferPlan plan = sliced_plan(graph, kNoLimit, keys);
  plan.credit_bytes = kOneMessage;
  return plan;
}

}  // namespace

TransferPlan plan_tic(const WithinInput& input) {
  const Uses uses = find_uses(input.graph);
  const auto count = static_cast<std::uint32_t>(uses.transfers.size());
  return plan_order(input.graph, uses, tic_order(uses.computations, count));
}

TransferPlan plan_tac(const WithinInput& input) {
  const Uses uses = find_uses(input.graph);
  return plan_order(input.graph, uses, tac_order(uses.computations, uses.seconds));
}

}  // namespace weft

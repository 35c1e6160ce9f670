// Prophet (Zhang et al., ICPP '21): blocks sized from bandwidth and the predicted gaps between
// gradients, one block at a time.
#include <algorithm>

#include "timing/iteration/schedulers/schedulers.h"

namespace weft {

// The system is built on BytePS, whose partitions hold 4,096,000 bytes unless told otherwise.
constexpr double kMostBytes = 4'096'000;

TransferPlan plan_prophet(const WithinInput& input) {
  const IterationGraph& graph = input.graph;
  const OpTimes times = compute_only_times(graph);
  const std::vector<Seconds> use = first_use(graph);
  TransferPlan plan;
  plan.credit_bytes = kOneMessage;
  for (std::uint32_t w = 0; w < graph.wires.size(); ++w) {
    std::vector<ReadyTensor> tensors;
    std::vector<std::uint32_t> ops;
    for (std::uint32_t i = 0; i < graph.ops.size(); ++i) {
      const IterationOp& op = graph.ops[i];
      if (!op.is_transfer || op.follows != kNoOp || op.place != w) continue;
      tensors.push_back({times.begin[i], op.amount, use[i]});
      ops.push_back(i);
    }
    const IterationWire& wire = graph.wires[w];
    const auto blocks =
        gap_blocks(tensors, wire.bytes_per_s / wire.factor, wire.overhead, kMostBytes);
    // The planned order is the order: a block's key is its place.
    double place = 0;
    for (const std::vector<Piece>& pieces : blocks) {
      MessageBlock block{w, pieces, place++, 0};
      for (Piece& piece : block.pieces) piece.tensor = ops[piece.tensor];
      plan.blocks.push_back(std::move(block));
    }
  }
  return plan;
}

}  // namespace weft

// What a within-job scheduler decides, and the messages that come of it.
#pragma once

#include <vector>

#include "flow/partition.h"
#include "timing/iteration/graph.h"

namespace weft {

// A message: pieces of transfers of one wire (Piece::tensor is the op).
struct MessageBlock {
  std::uint32_t wire = 0;
  std::vector<Piece> pieces;
  double key = 0;          // least first among those that are ready
  std::uint32_t rank = 0;  // strict, on links that messages of the job meet on
};

// Requires: the blocks hold every byte of every transfer that follows none, and nothing else. What
// follows a transfer is cut, keyed and ranked like it.
struct TransferPlan {
  std::vector<MessageBlock> blocks;
  double credit_bytes = kNoLimit;  // tensor bytes under way on each wire
  bool concurrent = false;         // messages of a wire share it instead of queueing in it
};

// An iteration as the simulator runs it.
struct ProgramNode {
  enum class Kind : std::uint8_t { kCompute, kMessage, kJoin };  // a join takes no time
  Kind kind = Kind::kCompute;
  std::uint32_t place = 0;
  double amount = 0;        // seconds, or bytes on the wire's path
  double tensor_bytes = 0;  // of messages
  double key = 0;
  std::uint32_t rank = 0;
  std::uint32_t op = 0;  // of a message, the transfer of its first piece
  std::uint32_t missing = 0;
  std::vector<std::uint32_t> users;
};

struct Program {
  std::vector<ProgramNode> nodes;
  double wire_bytes = 0;  // of all messages
  double credit_bytes = kNoLimit;
  bool concurrent = false;
};

Program make_program(const IterationGraph& graph, const TransferPlan& plan);

// Every transfer that follows none in slices of `most` bytes; `keys` and `ranks` by op, empty: 0.
TransferPlan sliced_plan(const IterationGraph& graph, double most, const std::vector<double>& keys,
                         const std::vector<std::uint32_t>& ranks = {});

}  // namespace weft

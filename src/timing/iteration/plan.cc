#include "timing/iteration/plan.h"

#include <cmath>

#include "base/check.h"

namespace weft {
namespace {

class ProgramMaker {
 public:
  ProgramMaker(const IterationGraph& graph, const TransferPlan& plan)
      : graph_(graph),
        plan_(plan),
        carriers_(graph.ops.size()),
        bytes_(graph.ops.size()),
        done_(graph.ops.size(), kNoOp),
        follower_(graph.ops.size(), kNoOp) {}

  Program make() {
    program_.credit_bytes = plan_.credit_bytes;
    program_.concurrent = plan_.concurrent;
    add_computations();
    for (const MessageBlock& block : plan_.blocks) add_block(block);
    check_bytes();
    add_joins();
    connect();
    return std::move(program_);
  }

 private:
  std::uint32_t add(ProgramNode node) {
    program_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(program_.nodes.size() - 1);
  }

  void add_computations() {
    for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
      const IterationOp& op = graph_.ops[i];
      if (op.follows != kNoOp) follower_[op.follows] = i;
      if (op.is_transfer) continue;
      ProgramNode node;
      node.place = op.place;
      node.amount = op.amount;
      node.op = i;
      done_[i] = add(std::move(node));
    }
  }

  // The message, and those that pass it on.
  void add_block(const MessageBlock& block) {
    CHECK(!block.pieces.empty());
    std::vector<Piece> pieces = block.pieces;
    std::uint32_t leader = kNoOp;
    while (true) {
      ProgramNode node;
      node.kind = ProgramNode::Kind::kMessage;
      node.place = graph_.ops[pieces[0].tensor].place;
      node.op = pieces[0].tensor;
      node.key = block.key;
      node.rank = block.rank;
      for (const Piece& piece : pieces) {
        CHECK(piece.bytes > 0 && graph_.ops[piece.tensor].place == node.place);
        node.tensor_bytes += piece.bytes;
      }
      node.amount = node.tensor_bytes * graph_.wires[node.place].factor;
      program_.wire_bytes += node.amount;
      const std::uint32_t at = add(std::move(node));
      for (const Piece& piece : pieces) {
        carriers_[piece.tensor].push_back(at);
        bytes_[piece.tensor] += piece.bytes;
      }
      if (leader != kNoOp) arrow(leader, at);
      leader = at;
      // Either all tensors of a block are passed on, over one wire, or none is.
      if (follower_[pieces[0].tensor] == kNoOp) return;
      for (Piece& piece : pieces) piece.tensor = follower_[piece.tensor];
    }
  }

  void check_bytes() const {
    for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
      if (!graph_.ops[i].is_transfer) continue;
      CHECK(std::abs(bytes_[i] - graph_.ops[i].amount) <= 1e-6 * graph_.ops[i].amount);
    }
  }

  void add_joins() {
    for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
      if (!graph_.ops[i].is_transfer) continue;
      if (carriers_[i].size() == 1) {
        done_[i] = carriers_[i][0];
        continue;
      }
      ProgramNode node;
      node.kind = ProgramNode::Kind::kJoin;
      node.op = i;
      done_[i] = add(std::move(node));
      for (std::uint32_t carrier : carriers_[i]) arrow(carrier, done_[i]);
    }
  }

  void connect() {
    for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
      for (std::uint32_t need : graph_.ops[i].needs) {
        if (!graph_.ops[i].is_transfer) {
          arrow(done_[need], done_[i]);
          continue;
        }
        for (std::uint32_t carrier : carriers_[i]) arrow(done_[need], carrier);
      }
    }
  }

  void arrow(std::uint32_t from, std::uint32_t to) {
    program_.nodes[from].users.push_back(to);
    ++program_.nodes[to].missing;
  }

  const IterationGraph& graph_;
  const TransferPlan& plan_;
  Program program_;
  std::vector<std::vector<std::uint32_t>> carriers_;  // by op: its messages
  std::vector<double> bytes_;
  std::vector<std::uint32_t> done_;      // by op: the node that ends with it
  std::vector<std::uint32_t> follower_;  // by op
};

}  // namespace

Program make_program(const IterationGraph& graph, const TransferPlan& plan) {
  return ProgramMaker(graph, plan).make();
}

TransferPlan sliced_plan(const IterationGraph& graph, double most, const std::vector<double>& keys,
                         const std::vector<std::uint32_t>& ranks) {
  TransferPlan plan;
  for (std::uint32_t i = 0; i < graph.ops.size(); ++i) {
    const IterationOp& op = graph.ops[i];
    if (!op.is_transfer || op.follows != kNoOp) continue;
    for (double bytes : slice_sizes(op.amount, most)) {
      plan.blocks.push_back(
          {op.place, {{i, bytes}}, keys.empty() ? 0 : keys[i], ranks.empty() ? 0 : ranks[i]});
    }
  }
  return plan;
}

}  // namespace weft

// One way of splitting the training of a model over devices.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "planner/hardware.h"
#include "planner/transformer.h"

namespace weft::planner {

enum class Recompute { kNone, kSelective, kFull };  // nothing, the core of attention, whole layers
enum class PipelineKind { kGPipe, k1F1B, kInterleaved, kZeroBubble1, kZeroBubble2 };
// How tensor-parallel ranks exchange activations. With kSequence what lies between the matrix
// products is split by tokens too (sequence parallelism).
enum class TensorExchange { kAllReduce, kReduceScatter, kSequence };
// Part of an exchange hidden behind the matrix product beside it: none, cut in two, cut in tp
// parts.
enum class TensorOverlap { kNone, kPipe, kRing };

// How many members of each group share a node.
struct Placement {
  int tensor = 1;
  int data = 1;
  int pipeline = 1;
};

struct Layout {
  int tensor = 1, pipeline = 1, data = 1, context = 1, expert = 1;
  int chunks = 1;  // per device; above 1 only with kInterleaved
  int micro_batch = 1;
  int global_batch = 1;
  Recompute recompute = Recompute::kNone;
  PipelineKind schedule = PipelineKind::k1F1B;
  TensorExchange exchange = TensorExchange::kAllReduce;
  TensorOverlap overlap = TensorOverlap::kNone;
  bool gather_again = true;  // kSequence: gather inputs again for the backward pass, keep a part
  int zero = 0;              // 0 to 3: optimizer, gradients and weights sharded over data ranks
  bool overlap_gradients = false;
  bool flash_attention = false;
  bool offload_weights = false, offload_activations = false, offload_optimizer = false;
  Placement placement;

  int devices() const { return tensor * pipeline * data * context; }
  int micro_batches() const { return global_batch / (data * micro_batch); }
  bool sequence_parallel() const { return exchange == TensorExchange::kSequence; }
};

// Members in the order tensor, context, data, pipeline fill nodes one after another (Megatron's
// order of ranks).
Placement usual_placement(const Layout& layout, int node);

// The error says what does not divide, with both numbers.
Status check(const Layout& layout, const Transformer& model);

// Layers on the first, a middle and the last device of the pipeline. An embedding and an output
// layer count as a layer where that makes the numbers come out even.
struct StageLayers {
  int first = 0, middle = 0, last = 0;
};
StageLayers stage_layers(const Transformer& model, int pipeline);

std::string_view name_of(Recompute recompute);
std::string_view name_of(PipelineKind schedule);
std::string_view name_of(TensorExchange exchange);
std::string_view name_of(TensorOverlap overlap);
// "tp8 pp16 dp32 mb1 v3 full ..."
std::string describe(const Layout& layout);

}  // namespace weft::planner

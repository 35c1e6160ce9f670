// A pipeline schedule as data: for every device, which passes it runs and in which order. The same
// value is proved (verify.h), timed (solve.h) and executed by live ranks. docs/pipelines.md
// explains it with pictures and the JSON form.
//
// Work. The model is cut into chunks 0 .. chunks-1, first layers first; a batch into micro-batches;
// a micro-batch, along its sequence, into slices. One (micro-batch, chunk, slice) is a work. Each
// has one forward pass and one backward pass, the latter whole or as two operations: the gradient
// of its input and, any time later, the gradient of its weights.
//
// Places. A route says which device holds each chunk. Every micro-batch follows one route; with
// several routes the model is held several times, and the optimizer waits for all who share a
// chunk.
//
// What waits for what, beside the order of each device's list:
//  - a forward pass for that of the chunk before it; a backward pass for that of the chunk after
//  it;
//  - a backward pass for its own forward pass, its recomputation and its reload, if it has them;
//  - a slice for the slices before it (forward), for those after it (backward): causal attention;
//  - what comes from another device for its transfer. Transfers run beside computation, in the
//  order
//    of the list that causes them, one at a time for each ordered pair of devices.
//
// Memory. A work holds `activation[chunk]` from the beginning of its forward pass to the end of its
// backward pass, or of its weight gradient; see `checkpoint_part`, `weight_part`, offload, reload.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::pipeline {

enum class Kind : std::uint8_t {
  kForward,
  kBackward,         // whole
  kBackwardInput,    // the gradient of the input, which the chunk before waits for
  kWeightGradient,   // the rest
  kForwardBackward,  // a forward pass of `work` and a whole backward pass of `other`, overlapped
  kRecompute,        // brings back what the forward pass did not keep
  kSend,             // listed transfers only: what `work` made goes to `peer`
  kReceive,          // listed transfers only: what `work` is in need of comes from `peer`
  kOffload,          // the activation moves to `peer`, or to the host
  kReload,           // and back
  kOptimizer,        // makes the next weight version of all chunks of the device
};
inline constexpr int kKinds = 11;

// The direction of a transfer: activations go forward, gradients backward.
enum class Flow : std::uint8_t { kForward, kBackward };

struct Work {
  int micro_batch = 0;
  int chunk = 0;
  int slice = 0;
  bool operator==(const Work&) const = default;
};

inline constexpr int kHost = -1;

struct Op {
  Kind kind = Kind::kForward;
  Work work = {};              // all but kOptimizer; of a transfer: who made or needs it
  Work other = {};             // kForwardBackward: the backward pass
  Flow flow = Flow::kForward;  // kSend, kReceive
  int peer = kHost;            // kSend, kReceive: a device; kOffload, kReload: a device or kHost
  int version = 0;             // of the weights that a pass uses; kOptimizer: that it makes
  int codec = 0;               // kSend: 0 none, n: codecs[n-1]
  double seconds = 0;          // on the device; of transfers: on the link
  double joules = 0;
  bool operator==(const Op&) const = default;
};

struct Schedule {
  std::string name;  // for reports
  int devices = 1;
  int chunks = 1;
  int micro_batches = 1;
  int slices = 1;
  std::vector<std::vector<int>> routes;  // device of each chunk
  std::vector<int> route_of = {};        // of each micro-batch; empty: all follow route 0

  // Declarations that verify() proves.
  int staleness = 0;                // updates a gradient may miss: 0 is synchronous
  int weight_versions = 1;          // that a device must keep at a time
  std::vector<double> limits = {};  // of activations per device; empty: none

  std::vector<double> activation;  // what one slice of one micro-batch holds, per chunk
  double checkpoint_part = 0;      // kept from forward pass to recomputation
  double weight_part = 1;          // kept from backward-input to weight gradient
  double idle_watts = 0;           // of a device that does not compute

  // Implied transfers take transfer_seconds[c] between chunks c and c+1, either way; empty: none.
  std::vector<double> transfer_seconds = {};
  bool listed_transfers = false;  // every transfer is a kSend and a kReceive
  std::vector<std::string> codecs = {};

  std::vector<std::vector<Op>> programs;  // one list per device

  int route(int micro_batch) const {
    return route_of.empty() ? 0 : route_of[static_cast<std::size_t>(micro_batch)];
  }
  int device(const Work& work) const {
    return routes[static_cast<std::size_t>(route(work.micro_batch))]
                 [static_cast<std::size_t>(work.chunk)];
  }
  std::size_t works() const {
    return static_cast<std::size_t>(micro_batches) * static_cast<std::size_t>(chunks) *
           static_cast<std::size_t>(slices);
  }
  std::size_t number(const Work& work) const {
    return (static_cast<std::size_t>(work.micro_batch) * static_cast<std::size_t>(chunks) +
            static_cast<std::size_t>(work.chunk)) *
               static_cast<std::size_t>(slices) +
           static_cast<std::size_t>(work.slice);
  }
  bool operator==(const Schedule&) const = default;
};

// What a schedule may hold at most, wherever it comes from.
inline constexpr int kMaxDevices = 1 << 14;
inline constexpr int kMaxChunks = 1 << 16;
inline constexpr int kMaxMicroBatches = 1 << 20;
inline constexpr int kMaxSlices = 1 << 12;
inline constexpr std::int64_t kMaxOps = std::int64_t{1} << 26;

// The names used in JSON and messages, for instance "backward-input".
std::string_view name_of(Kind kind);
std::string_view name_of(Flow flow);
// "backward of micro-batch 3, chunk 1" and, if there are several, "slice 2".
std::string describe(const Schedule& schedule, const Op& op);
std::string describe(const Schedule& schedule, const Work& work);

// Whether an operation runs the forward (backward) pass of its work (of `backward_work`).
bool runs_forward(Kind kind);
bool runs_backward(Kind kind);
// Whether it makes the weight gradient.
bool makes_gradient(Kind kind);
inline const Work& backward_work(const Op& op) {
  return op.kind == Kind::kForwardBackward ? op.other : op.work;
}
// Whether it takes the device's time: all but transfers.
bool computes(Kind kind);

}  // namespace weft::pipeline

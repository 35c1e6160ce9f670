// One training iteration as data: computations on devices, transfers over wires, and who waits for
// whom. Generators make it from layers or pipeline stages; schedulers cut its transfers into
// messages; the simulator runs it again and again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "fabric/topology.h"

namespace weft {

inline constexpr std::uint32_t kNoOp = UINT32_MAX;

// One queue of a job's messages into the network. A message of b tensor bytes occupies it for
// `overhead`, then moves factor × b bytes over the path at the rate the links give, and has arrived
// `latency` later. Messages of a wire go one after the other unless the plan says otherwise.
struct IterationWire {
  std::string name;
  std::vector<LinkId> path;  // at least one link, none twice
  double factor = 1;         // bytes on the path for each byte of a tensor
  Seconds overhead = 0, latency = 0;
  double bytes_per_s = 0;  // of the slowest link on the path
};

// A computation (seconds on device `place`) or a transfer (bytes over wire `place`).
struct IterationOp {
  std::string name;
  bool is_transfer = false;
  std::uint32_t place = 0;
  double amount = 0;                 // seconds, from 0; or bytes, above 0
  std::vector<std::uint32_t> needs;  // lower indices; all must be done
  // A transfer that passes on, slice by slice, what this other one brings (a pull after its push).
  // Such a transfer needs nothing else and has as many bytes.
  std::uint32_t follows = kNoOp;
};

// Ensures: ops are in topological order. The next iteration begins when every op is done.
struct IterationGraph {
  std::vector<IterationOp> ops;
  std::vector<std::string> devices;
  std::vector<IterationWire> wires;
};

// Beginning and end of every op if every transfer took no time; each device takes the lowest index
// that is ready. What a user of an ideal network would see.
struct OpTimes {
  std::vector<Seconds> begin, end;
  Seconds all = 0;
};
OpTimes compute_only_times(const IterationGraph& graph);

// By transfer, when its data is first used in compute_only_times(): the begin of the first
// computation that needs it, or what follows it. kNever for computations and for unused transfers.
// This is the key of every scheduler that serves by first use, and, as an offset from the
// iteration's begin, the ideal finish time of an EchelonFlow (Pan et al., HotNets '22).
std::vector<Seconds> first_use(const IterationGraph& graph);

// Seconds that a job computes in an iteration, on all its devices together.
double compute_seconds(const IterationGraph& graph);

}  // namespace weft

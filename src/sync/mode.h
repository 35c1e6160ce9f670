// How the ranks of a training job agree on parameters: a mode, made from text such as
// "diloco:period=50,fragments=4". A mode is a choice of few parts; the names are presets of them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::sync {

// What a rank hands over, and to whom.
enum class Exchange : std::uint8_t {
  kGradients,   // the gradients of every step, averaged over all ranks
  kDeltas,      // the way from the agreed parameters to its own, averaged over all ranks
  kServers,     // the same way, pushed to the ranks that hold the shards, for fresh parameters
  kNeighbours,  // parameters, averaged with those of the neighbours in a graph
};

// Who is whose neighbour (sync/mixing.h).
enum class Graph : std::uint8_t { kRing, kExponential, kOnePeer };

// What is done with the average of the ways that the ranks went.
struct OuterRule {
  enum class Kind : std::uint8_t { kMomentum, kNesterov, kAdam };
  Kind kind = Kind::kMomentum;
  double lr = 1;
  double momentum = 0;  // Adam's first beta
  double beta2 = 0.99;
  double epsilon = 1e-3;
  bool per_step = false;  // ways are divided by their steps before they are averaged (FedNova)
  bool in_units_of_lr = false;  // momentum counts in units of the inner learning rate (SlowMo)

  bool operator==(const OuterRule&) const = default;
};

inline constexpr std::uint32_t kUnbounded = std::numeric_limits<std::uint32_t>::max();

struct Mode {
  std::string name = "bsp";
  Exchange exchange = Exchange::kGradients;

  std::uint32_t period = 1;  // local steps from one exchange to the next
  std::uint32_t warmup = 0;  // steps with averaged gradients before the first local one
  bool adaptive = false;     // the period shrinks as the loss falls
  double threshold = 0;     // above 0: every `period` steps ranks vote, and average if the relative
                            // drift of one is above this
  std::uint32_t group = 0;  // above 0: ranks of a group average every `inner` steps
  std::uint32_t inner = 0;

  std::uint32_t fragments = 1;  // of the parameters, exchanged in turn
  std::uint32_t overlap = 0;    // steps that an average may be under way before it is needed
  double mixing = 0;            // share of its own parameters that a rank keeps at an average
  bool eager = false;  // an average is under way until the next one is due; meanwhile a rank goes
                       // on from its own part of it (sync/replica.h)
  OuterRule outer;
  double proximal = 0;       // weight of the pull towards the agreed parameters (FedProx)
  bool control = false;      // control variates (SCAFFOLD)
  double participation = 1;  // share of the ranks whose work counts in a round
  std::uint32_t seed = 1;    // of the choice of participants

  std::uint32_t backup = 0;  // steps of so many ranks, the last ones, are left out (kServers)

  std::uint32_t bound = kUnbounded;  // steps that a rank may be ahead of the slowest (kServers)
  std::uint32_t buffer = 0;          // above 0: servers collect so many ways before they move

  Graph graph = Graph::kRing;
  std::string codec;  // of what is averaged; empty: none. Its name is not checked here.

  bool operator==(const Mode&) const = default;
};

// "bsp", "ssp:bound=3", "local:adaptive". Ensures: every value in its range and no two parameters
// that contradict each other, or an error with every mistake and near misses suggested.
Result<Mode> parse_mode(std::string_view text);
// The shortest text that parse_mode reads as this mode. Requires: it came from parse_mode.
std::string mode_text(const Mode& mode);

// For help: every name with what it does, its parameters with their defaults, and its source.
struct ModeHelp {
  std::string name, summary, parameters, source;
};
std::vector<ModeHelp> list_modes();

}  // namespace weft::sync

// What a recorded run would have taken had some of it been ideal, and who is to blame for how much
// of it: the what-if analysis of Lin and others, "Understanding stragglers in large model training
// using what-if analysis" (OSDI 2025).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/recording.h"

namespace weft::pipeline {

// A part of a recording: all operations of a device, of a kind, or the transfers between devices.
struct Part {
  enum class What { kEverything, kWorker, kKind, kTransfers };
  What what = What::kEverything;
  int worker = 0;
  Kind kind = Kind::kForward;
  bool operator==(const Part&) const = default;
};

// "all", "worker=3", "op=backward", "op=transfer".
Result<Part> parse_part(const std::string& text);
std::string name_of(const Part& part);

// An ideal operation takes the median of all of its kind, on all devices and in all steps; so does
// an ideal transfer. That counts uneven stages as a slowdown of the stages that have more to do.
// Replays each step with the solver: recorded times, those of the given parts made ideal (or, if
// `inverted`, all others). The result is timed step by step.
// Requires: parse_recording() or record() made it.  Ensures: the same order of operations.
std::vector<Timeline> replay(const Recording& recording, const std::vector<Part>& ideal,
                             bool inverted = false);

// Idle part of the devices' time in several steps, one behind the other.
double idle_fraction(const std::vector<Timeline>& steps);

struct Cause {
  Part part;
  double mended_s = 0;  // all steps, if this part alone were ideal
  double alone_s = 0;   // all steps, if everything but this part were ideal
};

struct Causes {
  double recorded_s = 0;  // all steps as recorded
  double replayed_s = 0;  // the same by the solver: recorded operations, no other delays
  double replayed_idle_fraction = 0;
  double ideal_s = 0;         // everything ideal
  std::vector<Cause> causes;  // workers, then kinds of operations, then transfers
};

// Cost: 2 * (devices + kinds) times solve() of every step.
Causes find_causes(const Recording& recording);

}  // namespace weft::pipeline

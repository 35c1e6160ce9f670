// Menus of jobs from the cost model of live training, for the simulator's jobs and the daemon's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/workload.h"
#include "runtime/chooser.h"

namespace weft::runtime {

// Of plain training's seconds per progress, at most to be promised by what takes its place:
// predictions err by about as much as is missing.
inline constexpr double kWorthCoding = 0.9;

// What is known of a model before it trains.
struct ModelStep {
  double gradient_bytes = 0;            // of float32, all of them
  Seconds compute_s = 0;                // that a rank computes in a step
  std::vector<std::string> modes = {};  // one that averages gradients first; empty: automatic
  std::optional<bool> adaptive = {};    // the optimizer, as in codec/efficiency.h
};

// `asked` first, as it is; then, best first, one configuration for each codec, mode and algorithm
// whose progress is known (timing/compression/menu.h). Coding speeds are usual_coding(), so that
// the menu does not hang on the machine that fills it.
// Error: a mode that is not known. Requires: shape.ranks above 1.
Result<Menu> codec_menu(const Configuration& asked, const ModelStep& step, const GroupShape& shape);

}  // namespace weft::runtime

// Reads the measured profiles of Sia's public artifact: one folder per model, with
// placements-TYPE.csv and scalability-TYPE.csv (step and exchange times per gang and local batch
// size on one device type) and validation-BATCH.csv (progress and gradient noise per epoch).
#pragma once

#include <string>

#include "base/result.h"
#include "model/goodput.h"

namespace weft {

// `folder` is the model's; its last component is the model's name. Number of epochs, restart time
// and slowdown are not in the files: for the seven models of the artifact they are those of its
// simulator (applications.py, simulator_config.py), for others all epochs, 30 s and 1. Ensures:
// on_types ascend by type name; an error names every bad line of the folder (capped).
Result<Goodput> read_sia_profile(const std::string& folder);

}  // namespace weft

// Measured co-location of models on one device: what a sharer may know.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"

namespace weft {

// Measured speed of two models on one device, each relative to running alone.
struct PairSpeed {
  double first = 1, second = 1;
  Bytes memory = 0;  // together; 0: not measured
};

// Measured use of one device by a model alone.
struct ModelProfile {
  std::string name;
  double device_util = 0;  // 0..1
  double memory_util = 0;  // 0..1
  Bytes memory = 0;
  int packing_class = -1;  // 0 light, 1 medium, 2 heavy; -1: not told
};

struct PairTable {
  std::vector<ModelProfile> models;           // indexed by ModelId
  std::vector<std::vector<PairSpeed>> speed;  // [a][b]; first == 0: may not share
  // Where the device type matters: [type][a][b]. Empty: `speed` holds for every type.
  std::vector<std::vector<std::vector<PairSpeed>>> speed_on_type;

  bool empty() const { return speed.empty(); }
  // Requires: !empty(); `a` and `b` are rows of `models`.
  const PairSpeed& at(TypeId type, ModelId a, ModelId b) const {
    return type < speed_on_type.size() && !speed_on_type[type].empty() ? speed_on_type[type][a][b]
                                                                       : speed[a][b];
  }
};

}  // namespace weft

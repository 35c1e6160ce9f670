// Where the vertices of a topology stand in its picture.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology.h"

namespace weft {

struct PlacedVertex {
  VertexId vertex = 0;
  double x = 0, y = 0;
  bool named = false;
};

struct Layout {
  double width = 0, height = 0;
  std::vector<PlacedVertex> vertices;  // by ascending id
  enum class Kind { kTiers, kGrid, kCircle } kind = Kind::kTiers;
  std::string note;  // what was left out
};

// Large networks are drawn in part: enough of each kind to see how it is wired.
Layout lay_out(const Topology& topology);

}  // namespace weft

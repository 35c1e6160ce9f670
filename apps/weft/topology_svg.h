// A topology as a picture.
#pragma once

#include <string>

#include "fabric/topology.h"

namespace weft {

// A whole SVG file: vertices by kind, links by speed, a legend, and the network in words.
std::string topology_svg(const Topology& topology);

}  // namespace weft

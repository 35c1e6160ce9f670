// `weft bench codec`: how fast this machine compresses gradients, as a share of memcpy.
#pragma once

#include "verb.h"

namespace weft {

Verb add_bench_codec(CLI::App& bench);

}  // namespace weft

// `weft bench start`: how long ranks take to become a group, and what connections it costs.
#pragma once

#include "verb.h"

namespace weft {

Verb add_bench_start(CLI::App& bench);

}  // namespace weft

// `weft bench choose`: which algorithm an operation would run, and why.
#pragma once

#include "verb.h"

namespace weft {

Verb add_bench_choose(CLI::App& bench);

}  // namespace weft

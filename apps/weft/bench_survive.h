// `weft bench survive`: one rank that sums again and again, whatever happens to the others, and
// says what it sees. Started by bench/partition.py, which cuts the network or stops ranks
// meanwhile.
#pragma once

#include "verb.h"

namespace weft {

Verb add_bench_survive(CLI::App& bench);

}  // namespace weft

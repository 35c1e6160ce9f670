// `weft bench rank`: one rank of our own all-reduce under bench/peers/measure.h. Started by
// `weft bench allreduce`; the same words as those of the other libraries' programs.
#pragma once

#include "verb.h"

namespace weft {

Verb add_bench_rank(CLI::App& bench);

}  // namespace weft

// `weft bench training`: the same model trained with several libraries, codecs and synchronisation
// modes, beside each other.
#pragma once

#include "verb.h"

namespace weft {

Verb add_bench_training(CLI::App& bench);

}  // namespace weft

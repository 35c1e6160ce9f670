// `weft bench`: how fast this machine simulates and communicates, beside the peers that can run on
// it.
#pragma once

#include <CLI/CLI.hpp>

#include "verb.h"

namespace weft {

// Adds `bench` and its verbs. The result's run() runs the verb that was named.
Verb add_bench_command(CLI::App& app);

}  // namespace weft

// `weft agent`: runs ranks on this node for a controller. `weft agent keep` is the process that the
// agent starts for each rank.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "verb.h"

namespace weft {

// Runs `weft agent keep …` if these are its words, before anything slow is done: a rank starts only
// after its keeper has.
std::optional<int> run_keeper(int argc, char** argv);

Verb add_agent_command(CLI::App& app);

}  // namespace weft

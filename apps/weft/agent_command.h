// `weft agent`: runs ranks on this node for a controller. `weft agent keep` is the process from
// which the agent has a keeper forked for each rank.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "verb.h"

namespace weft {

// Runs `weft agent keep …` if these are its words, before anything else: it must have one thread
// and little memory.
std::optional<int> run_keeper(int argc, char** argv);

Verb add_agent_command(CLI::App& app);

}  // namespace weft

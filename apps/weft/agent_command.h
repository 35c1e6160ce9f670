// `weft agent`: runs ranks on this node for a controller. `weft agent keep` is the process from
// which the agent has a keeper forked for each rank, `weft agent meet` the rendezvous store of a
// job whose ranks come and go.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "verb.h"

namespace weft {

// Runs `weft agent keep …` if these are its words, before anything else: it must have one thread
// and little memory.
std::optional<int> run_keeper(int argc, char** argv);

// Runs `weft agent meet ADDRESS` if these are its words: serves the store there, with the secret of
// WEFT_SECRET_FILE, until it is told to end.
std::optional<int> run_meeting(int argc, char** argv);

Verb add_agent_command(CLI::App& app);

}  // namespace weft

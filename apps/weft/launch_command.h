// `weft launch`: starts the ranks of a job as torchrun does, and keeps them running.
#pragma once

#include <CLI/CLI.hpp>

#include "verb.h"

namespace weft {

// Keeps the words of the command of `weft launch` from being read as ours. Call before parsing.
void protect_launch_words(int argc, char** argv);

Verb add_launch_command(CLI::App& app);

}  // namespace weft

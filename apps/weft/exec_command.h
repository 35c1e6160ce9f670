// `weft exec` and `weft attach`: a command, or a shell, beside a running rank.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "verb.h"

namespace weft {

// Takes the words behind `--` of `weft exec` off the command line, so that they are not read as
// ours. Call before parsing.
std::vector<std::string> take_exec_words(int& argc, char** argv);

std::vector<Verb> add_exec_commands(CLI::App& app, std::vector<std::string> words);

}  // namespace weft

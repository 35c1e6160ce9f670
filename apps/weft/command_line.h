// All verbs of `weft`, and what parses words for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "verb.h"

namespace weft {

struct CommandLine {
  CLI::App app{"Weft schedules deep-learning clusters, in simulation and for real."};
  std::vector<Verb> verbs;
};

// `exec_words`: the command of `weft exec`, which no parser may touch.
std::unique_ptr<CommandLine> make_command_line(std::vector<std::string> exec_words = {});

// Parses the words and runs their verb; returns the exit code.
int run_command_line(int argc, char** argv);

}  // namespace weft

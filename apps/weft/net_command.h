// `weft net`: the network without a cluster around it.
#pragma once

#include <CLI/CLI.hpp>

#include "net_iteration.h"

namespace weft {

struct NetArguments {
  IterationArguments iteration;
};

// Adds the verb to the command line. Requires: the arguments outlive the parsing.
CLI::App* add_net_command(CLI::App& app, NetArguments& arguments);
// Runs what was parsed; returns the exit code. Requires: net was parsed.
int run_net(const CLI::App& net, const NetArguments& arguments);

}  // namespace weft

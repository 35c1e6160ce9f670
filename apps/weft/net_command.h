// `weft net`: questions about networks. Each verb is a file of its own that adds its options and
// gives back what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "verb.h"

namespace weft {

Verb add_net_topology(CLI::App& net);
Verb add_net_collective(CLI::App& net);
Verb add_net_coflow(CLI::App& net);
Verb add_net_iteration(CLI::App& net);
Verb add_net_sync(CLI::App& net);

// Adds `net` and all its verbs. The result's app is `net`; its run() runs the verb that was named.
Verb add_net_command(CLI::App& app);

}  // namespace weft

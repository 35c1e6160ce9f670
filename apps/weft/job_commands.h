// The verbs of daily use: they ask the daemon of a store.
#pragma once

#include <vector>

#include "verb.h"

namespace weft {

// submit, jobs, status, logs, cancel, nodes, events, replay.
std::vector<Verb> add_job_commands(CLI::App& app);

}  // namespace weft

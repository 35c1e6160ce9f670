// `weft up` and `weft down`: the daemon of a cluster.
#pragma once

#include "verb.h"

namespace weft {

Verb add_up_command(CLI::App& app);
Verb add_down_command(CLI::App& app);

}  // namespace weft

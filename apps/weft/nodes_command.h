// `weft nodes`: lists nodes; its verbs change one.
#pragma once

#include "verb.h"

namespace weft {

Verb add_nodes_command(CLI::App& app);

}  // namespace weft

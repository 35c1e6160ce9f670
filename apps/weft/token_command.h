// `weft token`: who may ask the daemon over a network.
#pragma once

#include "verb.h"

namespace weft {

Verb add_token_command(CLI::App& app);

}  // namespace weft

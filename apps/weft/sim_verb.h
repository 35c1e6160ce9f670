// `weft sim`: its options.
#pragma once

#include "verb.h"

namespace weft {

Verb add_sim_command(CLI::App& app);

}  // namespace weft

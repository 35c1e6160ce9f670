// `weft usage` and `weft top`: what the cluster is used for.
#pragma once

#include "verb.h"

namespace weft {

Verb add_usage_command(CLI::App& app);
Verb add_top_command(CLI::App& app);

}  // namespace weft

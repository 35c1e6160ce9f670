// `weft explain`, `weft whatif`, `weft export` and `weft policy`.
#pragma once

#include <vector>

#include "verb.h"

namespace weft {

std::vector<Verb> add_forecast_commands(CLI::App& app);

}  // namespace weft

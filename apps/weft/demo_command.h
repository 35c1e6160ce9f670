// `weft demo`: real training jobs under fifo and under Weft, predicted and measured.
#pragma once

#include "verb.h"

namespace weft {

Verb add_demo_command(CLI::App& app);

}  // namespace weft

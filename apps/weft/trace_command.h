// `weft trace`: what the step recorders of a job's ranks say (docs/recorder.md).
#pragma once

#include "verb.h"

namespace weft {

Verb add_trace_command(CLI::App& app);

}  // namespace weft

// `weft recording`: what the step recorders of a job's ranks say (docs/recorder.md).
#pragma once

#include "verb.h"

namespace weft {

Verb add_recording_command(CLI::App& app);

}  // namespace weft

// `weft completions`: what a shell needs to complete verbs and options, made from the parser
// itself.
#pragma once

#include "verb.h"

namespace weft {

Verb add_completions_command(CLI::App& app);

}  // namespace weft

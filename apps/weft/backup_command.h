// `weft backup` and `weft restore`.
#pragma once

#include "verb.h"

namespace weft {

Verb add_backup_command(CLI::App& app);
Verb add_restore_command(CLI::App& app);

}  // namespace weft

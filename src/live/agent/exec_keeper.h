// The process that keeps one command beside a rank (`weft exec`): it starts the command in the
// rank's place and leaves nothing of it behind, whatever ends first: the command, its time, the
// agent's wish or the agent.
#pragma once

#include <array>
#include <string>

#include "base/result.h"
#include "live/agent/keeper.h"

namespace weft::live {

// Every process of a command carries this in its environment.
std::string exec_mark(const std::string& id);

// Runs until the command and all that descends from it are gone and the agent was told. What the
// command is comes as the first message on the link, {"do": "go", "command", "tty", "timeout_s"};
// "end" lets it end within a second, "kill" and the link's end kill it. The last message is
// {"is": "ended", "code", "signal", "why"}. `streams`: its input, output and errors.
// Requires: the only thread of a process of its own.
Status keep_exec(const KeeperWords& words, const std::string& id, std::array<int, 3> streams);

}  // namespace weft::live

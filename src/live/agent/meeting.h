// Where the ranks of a job that come and go find each other: the rendezvous store, in a process of
// its own that outlives agent and controller (`weft agent meet`).
#pragma once

#include <string>

#include "base/result.h"

namespace weft::live {

// Serves the store at host:port until SIGTERM or SIGINT, with the secret of the file that
// WEFT_SECRET_FILE names, and says on the progress socket when it does. Requires: one thread.
Status serve_meeting(const std::string& address);

}  // namespace weft::live

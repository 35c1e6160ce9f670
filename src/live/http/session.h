// One connection of the server: a request, its answer, the next request.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>

#include "live/http/caller.h"
#include "live/http/server.h"
#include "live/http/stream.h"

namespace weft::live {

// What the sessions of one listener share.
struct SessionShare {
  HttpService& service;
  const HttpLimits& limits;
  std::atomic<std::size_t> open = 0;
};

// Serves the connection until it ends; one that has TLS shakes hands first. `peer`: who asks, if
// the connection tells.
void begin_session(HttpStream stream, std::shared_ptr<SessionShare> share,
                   std::optional<Caller> peer);

}  // namespace weft::live

// Messages between an agent and its keepers: JSON objects on a unix socket that keeps their bounds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"

namespace weft::live {

inline constexpr std::size_t kMostLinkBytes = 64 << 10;
// The exit code of what could not be started, as shells have it.
inline constexpr int kNotStarted = 126;
// Until the agent says go, after which a keeper gives up.
inline constexpr std::int64_t kGoDeadlineNs = 30'000'000'000;
inline constexpr std::int64_t kMillisecond = 1'000'000;  // in nanoseconds

// What the last call of the system failed with.
Error io_error(const std::string& what);

// A non-blocking socket that listens at `path`, for this user alone; what was there is replaced.
Result<int> listen_for_keepers(const std::string& path);
// A non-blocking connection. Errors are usual: the agent may be dead.
Result<int> connect_to_agent(const std::string& path);

// The process at the other end. Nothing when it is another user's.
std::optional<pid_t> peer_of(int descriptor);

// False: the other side is gone, or so far behind that it may as well be.
bool send_message(int descriptor, const nlohmann::json& message);

enum class Received { kMessage, kNothing, kEnd };
// kMessage sets `message` to an object; anything else that comes is an end.
Received receive_message(int descriptor, nlohmann::json& message);

}  // namespace weft::live

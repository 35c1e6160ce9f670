#include "live/agent/keeper_link.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr int kBacklog = 1024;

// Requires: the path fits, which open_folder() has checked.
sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int new_socket() { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

}  // namespace

Error io_error(const std::string& what) {
  return {ErrorKind::kIo, fmt::format("{}: {}", what, std::strerror(errno)), ""};
}

Result<int> listen_for_keepers(const std::string& path) {
  const int descriptor = new_socket();
  if (descriptor < 0) return io_error("no socket for " + path);
  const sockaddr_un address = address_of(path);
  unlink(path.c_str());
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(descriptor, kBacklog) != 0) {
    const Error error = io_error("cannot listen at " + path);
    close(descriptor);
    return error;
  }
  return descriptor;
}

Result<int> connect_to_agent(const std::string& path) {
  const int descriptor = new_socket();
  if (descriptor < 0) return io_error("no socket for " + path);
  const sockaddr_un address = address_of(path);
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      peer_of(descriptor)) {
    return descriptor;
  }
  const Error error = io_error("cannot connect to " + path);
  close(descriptor);
  return error;
}

std::optional<pid_t> peer_of(int descriptor) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  if (peer.uid != geteuid()) return std::nullopt;
  return peer.pid;
}

bool send_message(int descriptor, const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(text.size());
}

Received receive_message(int descriptor, Json& message) {
  char text[kMostLinkBytes];
  const ssize_t got = recv(descriptor, text, sizeof text, MSG_DONTWAIT | MSG_TRUNC);
  if (got < 0) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Received::kNothing
                                                                     : Received::kEnd;
  }
  if (got == 0 || got > static_cast<ssize_t>(sizeof text)) return Received::kEnd;
  message = Json::parse(text, text + got, nullptr, false);
  return message.is_object() ? Received::kMessage : Received::kEnd;
}

}  // namespace weft::live

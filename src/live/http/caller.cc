#include "live/http/caller.h"

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iterator>

namespace weft::live {

std::optional<Role> role_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kRoleNames); ++i) {
    if (name == kRoleNames[i]) return static_cast<Role>(i);
  }
  return std::nullopt;
}

std::optional<Caller> user_named(const std::string& name) {
  passwd entry = {};
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwnam_r(name.c_str(), &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) {
    return std::nullopt;
  }
  return Caller{found->pw_uid, found->pw_gid, name, Role::kUser, false};
}

std::string name_of_user(std::uint32_t uid) {
  passwd entry = {};
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return std::to_string(uid);
}

std::optional<Caller> caller_at(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  const bool admin = peer.uid == 0 || peer.uid == getuid();
  return Caller{peer.uid, peer.gid, name_of_user(peer.uid), admin ? Role::kAdmin : Role::kUser,
                false};
}

}  // namespace weft::live

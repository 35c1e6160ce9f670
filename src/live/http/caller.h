// Who asks, and what that allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::live {

// What a caller may do; each may do what those before it may. A node may join and nothing else.
enum class Role : std::uint8_t { kNode, kUser, kOperator, kAdmin };
inline constexpr const char* kRoleNames[] = {"node", "user", "operator", "admin"};
std::optional<Role> role_named(std::string_view name);

struct Caller {
  std::uint32_t uid = 0, gid = 0;
  std::string user;
  Role role = Role::kUser;
  bool by_token = false;   // false: the kernel says who it is
  std::string token = {};  // its public name, by_token
  bool may(Role needed) const { return role >= needed; }
};

// A user of this machine.
std::optional<Caller> user_named(const std::string& name);
// The number itself where it has no name.
std::string name_of_user(std::uint32_t uid);
// Whoever is at the other end of a unix socket: root and whoever runs this process are
// administrators, all others users.
std::optional<Caller> caller_at(int socket);

}  // namespace weft::live

#include "bench_meeting.h"

#include <fmt/core.h>

#include "base/files.h"
#include "runtime/net/socket.h"
#include "runtime/wait.h"

namespace weft {
namespace {

constexpr double kMeetS = 30;

Status host_meeting(const std::string& file, Meeting& meeting) {
  runtime::GroupOptions& options = meeting.options;
  auto secret = runtime::Secret::fresh();
  if (!secret.ok()) return secret.error();
  options.secret = *secret;
  auto server = runtime::StoreServer::start(options.interface_address + ":0", options.secret);
  if (!server.ok()) return server.error();
  meeting.server = std::move(*server);
  options.store = fmt::format("{}:{}", options.interface_address, meeting.server->port());
  return write_file_atomically(file, options.secret.hex() + " " + options.store);
}

Status find_meeting(const std::string& file, Meeting& meeting) {
  constexpr double kLook_s = 1e-3;  // 64 ranks must not spin beside the one that starts
  if (!runtime::wait_until([&] { return is_file(file); }, kMeetS, kLook_s)) {
    return Error{ErrorKind::kIo, fmt::format("rank 0 did not write {} in {} s", file, kMeetS), ""};
  }
  const auto text = read_file(file, 4096);
  if (!text.ok()) return text.error();
  const std::size_t space = text->find(' ');
  auto secret = runtime::Secret::from_hex(text->substr(0, space));
  if (!secret.ok()) return secret.error();
  meeting.options.secret = *secret;
  if (space != std::string::npos) meeting.options.store = text->substr(space + 1);
  return {};
}

}  // namespace

Result<Meeting> meet(const std::string& folder, const std::string& interface, int rank, int ranks) {
  Meeting meeting;
  runtime::GroupOptions& options = meeting.options;
  options.rank = rank;
  options.member = static_cast<std::uint32_t>(rank);
  options.ranks = ranks;
  options.interface_address = "127.0.0.1";
  if (!interface.empty()) {
    const auto address = runtime::address_of_interface(interface);
    if (!address.ok()) return address.error();
    options.interface_address = *address;
  }
  const std::string file = path_in(folder, "meeting");
  const Status met = rank == 0 ? host_meeting(file, meeting) : find_meeting(file, meeting);
  if (!met.ok()) return met.error();
  return meeting;
}

}  // namespace weft

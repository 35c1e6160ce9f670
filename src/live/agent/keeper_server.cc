#include "live/agent/keeper_server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "live/agent/exec_arguments.h"
#include "live/agent/exec_keeper.h"
#include "live/agent/folder.h"
#include "live/agent/json_fields.h"
#include "live/agent/keeper.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kTitleBytes = 96;
constexpr std::size_t kMostRequest = 1024;

constexpr std::size_t kMostDescriptors = 4;  // the link and three streams

// A message that carries descriptors.
struct Parcel {
  Parcel(char* text, std::size_t size, std::size_t descriptors) : part{text, size} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
  }
  iovec part;
  msghdr header = {};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
};

bool send_request(int socket, std::string text, const std::vector<int>& descriptors) {
  CHECK(descriptors.size() <= kMostDescriptors);
  Parcel parcel(text.data(), text.size(), descriptors.size());
  cmsghdr* head = CMSG_FIRSTHDR(&parcel.header);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size() * sizeof(int));
  return sendmsg(socket, &parcel.header, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(text.size());
}

// Waits. False: the agent is gone. The link comes first; no descriptors: the request makes no
// sense.
bool receive_request(int socket, Json& request, std::vector<int>& descriptors) {
  char text[kMostRequest];
  Parcel parcel(text, sizeof text, kMostDescriptors);
  ssize_t got = -1;
  do {
    got = recvmsg(socket, &parcel.header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  descriptors.clear();
  const cmsghdr* head = CMSG_FIRSTHDR(&parcel.header);
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS) {
    descriptors.resize((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(descriptors.data(), CMSG_DATA(head), descriptors.size() * sizeof(int));
  }
  request = Json::parse(text, text + got, nullptr, false);
  return true;
}

// As if it had been started for this alone: a session of its own, its own log.
void settle_in(const FolderPaths& paths, const KeeperWords& words, const std::string& more,
               std::span<char> title) {
  setsid();
  signal(SIGCHLD, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  close(nothing);
  const int log = open(paths.keeper_log(words.key, words.rank).c_str(),
                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log >= 0) {
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    close(log);
  }
  std::string name = words.key.text() + '\0' + std::to_string(words.rank) + '\0' + more;
  name.resize(title.size());
  std::copy(name.begin(), name.end(), title.begin());
}

int keep(const std::string& folder, const Json& request, const std::vector<int>& descriptors,
         std::span<char> title) {
  JsonFields fields(request);
  KeeperWords words;
  words.folder = folder;
  words.key.uuid = fields.text("uuid");
  words.key.epoch = static_cast<std::uint64_t>(fields.whole("epoch", 0, std::int64_t{1} << 53, 0));
  words.rank = static_cast<int>(fields.whole("rank", 0, 1 << 24, 0));
  words.link = descriptors[0];
  const std::string exec = fields.text("exec");
  settle_in({folder}, words, exec.empty() ? "" : "exec", title);
  const Status kept =
      exec.empty() ? keep_rank(words)
                   : keep_exec(words, exec, {descriptors[1], descriptors[2], descriptors[3]});
  if (kept.ok()) return 0;
  const std::string text = kept.error().text() + "\n";
  [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, text.data(), text.size());
  return 1;
}

// In a session of its own, with nothing of ours but the socket and the environment. 0, or the
// number of the error.
int spawn_server(const std::vector<std::string>& words, int socket, const std::string& log,
                 pid_t& pid) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  const int failed = posix_spawn(&pid, words[0].c_str(), &actions, &attributes,
                                 pointers_to(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

// What the first look at users and their groups costs is paid here, not in every rank.
void load_user_tables() {
  const passwd* user = getpwuid(geteuid());
  if (user == nullptr) return;
  gid_t groups[1];
  int count = 1;
  getgrouplist(user->pw_name, user->pw_gid, groups, &count);
}

Error no_server(int number) {
  return {ErrorKind::kIo, fmt::format("no process for keepers: {}", std::strerror(number)), ""};
}

}  // namespace

int serve_keepers(const std::string& folder, std::span<char> title) {
  signal(SIGCHLD, SIG_IGN);  // the kernel takes ended keepers away; the agent watches them itself
  signal(SIGPIPE, SIG_IGN);
  load_user_tables();
  Json request;
  std::vector<int> descriptors;
  while (receive_request(STDIN_FILENO, request, descriptors)) {
    const bool whole = request.is_object() &&
                       descriptors.size() == (request.contains("exec") ? kMostDescriptors : 1);
    if (whole && fork() == 0) return keep(folder, request, descriptors, title);
    for (const int descriptor : descriptors) close(descriptor);
  }
  return 0;
}

KeeperServer::~KeeperServer() { end(); }

// What it forked goes on.
void KeeperServer::end() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
}

Status KeeperServer::start() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) != 0) {
    pid_ = -1;
    end();
  }
  if (pid_ > 0) return {};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return no_server(errno);
  std::vector<std::string> words = command_;
  words.insert(words.end(), {folder_, std::string(kTitleBytes, ' ')});
  const int failed = spawn_server(words, ends[1], log_, pid_);
  close(ends[1]);
  socket_ = ends[0];
  if (failed == 0) return {};
  pid_ = -1;
  end();
  return no_server(failed);
}

Result<int> KeeperServer::fork_keeper(const RunKey& key, int rank) {
  return fork(Json{{"uuid", key.uuid}, {"epoch", key.epoch}, {"rank", rank}}.dump(), {});
}

Result<int> KeeperServer::fork_exec_keeper(const RunKey& key, int rank, const std::string& id,
                                           const std::array<int, 3>& streams) {
  return fork(Json{{"uuid", key.uuid}, {"epoch", key.epoch}, {"rank", rank}, {"exec", id}}.dump(),
              streams);
}

Result<int> KeeperServer::fork(const std::string& request, std::span<const int> streams) {
  if (Status started = start(); !started.ok()) return started.error();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return no_server(errno);
  }
  std::vector<int> descriptors = {ends[1]};
  descriptors.insert(descriptors.end(), streams.begin(), streams.end());
  bool sent = send_request(socket_, request, descriptors);
  // One that has just died is not yet known to have: once more, with another.
  if (!sent && errno == EPIPE) {
    end();
    sent = start().ok() && send_request(socket_, request, descriptors);
  }
  const int number = errno;
  close(ends[1]);
  if (sent) return ends[0];
  close(ends[0]);
  return no_server(number);
}

}  // namespace weft::live

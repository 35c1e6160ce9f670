#include "live/agent/keeper_server.h"

#include <fcntl.h>
#include <fmt/format.h>
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

#include "live/agent/folder.h"
#include "live/agent/json_fields.h"
#include "live/agent/keeper.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kTitleBytes = 96;
constexpr std::size_t kMostRequest = 1024;

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// A message that carries one descriptor.
struct Parcel {
  Parcel(char* text, std::size_t size) : part{text, size} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  iovec part;
  msghdr header = {};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

bool send_request(int socket, std::string text, int link) {
  Parcel parcel(text.data(), text.size());
  cmsghdr* head = CMSG_FIRSTHDR(&parcel.header);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof link);
  std::memcpy(CMSG_DATA(head), &link, sizeof link);
  return sendmsg(socket, &parcel.header, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(text.size());
}

// Waits. False: the agent is gone. A link of -1: the request makes no sense.
bool receive_request(int socket, Json& request, int& link) {
  char text[kMostRequest];
  Parcel parcel(text, sizeof text);
  ssize_t got = -1;
  do {
    got = recvmsg(socket, &parcel.header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  link = -1;
  const cmsghdr* head = CMSG_FIRSTHDR(&parcel.header);
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&link, CMSG_DATA(head), sizeof link);
  }
  request = Json::parse(text, text + got, nullptr, false);
  return true;
}

// As if it had been started for this alone: a session of its own, its own log.
void settle_in(const FolderPaths& paths, const KeeperWords& words, std::span<char> title) {
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
  std::string name = words.key.text() + '\0' + std::to_string(words.rank);
  name.resize(title.size());
  std::copy(name.begin(), name.end(), title.begin());
}

int keep(const std::string& folder, const Json& request, int link, std::span<char> title) {
  JsonFields fields(request);
  KeeperWords words;
  words.folder = folder;
  words.key.uuid = fields.text("uuid");
  words.key.epoch = static_cast<std::uint64_t>(fields.whole("epoch", 0, std::int64_t{1} << 53, 0));
  words.rank = static_cast<int>(fields.whole("rank", 0, 1 << 24, 0));
  words.link = link;
  settle_in({folder}, words, title);
  const Status kept = keep_rank(words);
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
  const int failed =
      posix_spawn(&pid, words[0].c_str(), &actions, &attributes, pointers(words).data(), environ);
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
  int link = -1;
  while (receive_request(STDIN_FILENO, request, link)) {
    if (link < 0) continue;
    if (fork() == 0) return keep(folder, request, link, title);
    close(link);
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
  if (Status started = start(); !started.ok()) return started.error();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return no_server(errno);
  }
  const std::string text = Json{{"uuid", key.uuid}, {"epoch", key.epoch}, {"rank", rank}}.dump();
  bool sent = send_request(socket_, text, ends[1]);
  // One that has just died is not yet known to have: once more, with another.
  if (!sent && errno == EPIPE) {
    end();
    sent = start().ok() && send_request(socket_, text, ends[1]);
  }
  const int number = errno;
  close(ends[1]);
  if (sent) return ends[0];
  close(ends[0]);
  return no_server(number);
}

}  // namespace weft::live

#include "live/agent/meeting.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/net/store.h"

namespace weft::live {
namespace {

// Whoever waits for it in vain gives up by itself.
void say_ready() {
  constexpr std::string_view kLine = "ready=1\n";
  const char* path = getenv("WEFT_PROGRESS");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path == nullptr || strlen(path) >= sizeof address.sun_path) return;
  strcpy(address.sun_path, path);
  const int out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (out < 0) return;
  static_cast<void>(sendto(out, kLine.data(), kLine.size(), 0,
                           reinterpret_cast<const sockaddr*>(&address), sizeof address));
  close(out);
}

}  // namespace

Status serve_meeting(const std::string& address) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&ends, number);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before the store's thread is there
  signal(SIGPIPE, SIG_IGN);
  const char* file = getenv("WEFT_SECRET_FILE");
  const auto secret = runtime::Secret::from_file(file != nullptr ? file : "");
  if (!secret.ok()) return secret.error();
  const auto store = runtime::StoreServer::start(address, *secret);
  if (!store.ok()) return store.error();
  say_ready();
  int number = 0;
  sigwait(&ends, &number);
  return {};
}

}  // namespace weft::live

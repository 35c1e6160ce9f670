#include "live/agent/keeper_port.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "live/agent/keeper_link.h"

namespace weft::live {

Result<std::unique_ptr<KeeperPort>> KeeperPort::open(runtime::Reactor& reactor,
                                                     const std::string& path, Events events) {
  const auto descriptor = listen_for_keepers(path);
  if (!descriptor.ok()) return descriptor.error();
  std::unique_ptr<KeeperPort> port(new KeeperPort(reactor, *descriptor, std::move(events)));
  const Status added =
      reactor.add(*descriptor, EPOLLIN, [self = port.get()](std::uint32_t) { self->accept_all(); });
  if (!added.ok()) {
    close(std::exchange(port->descriptor_, -1));
    return added.error();
  }
  return port;
}

KeeperPort::~KeeperPort() {
  while (!fresh_.empty()) drop(*fresh_.begin());
  while (!known_.empty()) drop(known_.begin()->first);
  if (descriptor_ < 0) return;
  reactor_.remove(descriptor_);
  close(descriptor_);
}

void KeeperPort::accept_all() {
  while (true) {
    const int link = accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (link < 0) return;
    const auto peer = peer_of(link);
    const bool watched =
        peer && reactor_
                    .add(link, EPOLLIN,
                         [this, link, process = *peer](std::uint32_t) { read(link, process); })
                    .ok();
    if (watched) {
      fresh_.insert(link);
    } else {
      close(link);
    }
  }
}

Status KeeperPort::adopt(int link) {
  const Status watched =
      reactor_.add(link, EPOLLIN, [this, link](std::uint32_t) { read(link, getpid()); });
  if (watched.ok()) known_[link] = getpid();
  return watched;
}

void KeeperPort::read(int link, pid_t peer) {
  while (fresh_.contains(link) || known_.contains(link)) {
    nlohmann::json message;
    const Received received = receive_message(link, message);
    if (received == Received::kNothing) return;
    if (received == Received::kEnd) {
      const bool told = known_.contains(link);
      drop(link);
      if (told) events_.on_end(link);
      return;
    }
    if (fresh_.erase(link) > 0) {
      known_[link] = peer;
      events_.on_first(link, peer, message);
    } else {
      events_.on_message(link, message);
    }
  }
}

void KeeperPort::read_rest(int link) {
  if (const auto found = known_.find(link); found != known_.end()) read(link, found->second);
}

void KeeperPort::drop(int link) {
  if (fresh_.erase(link) + known_.erase(link) == 0) return;
  reactor_.remove(link);
  close(link);
}

}  // namespace weft::live

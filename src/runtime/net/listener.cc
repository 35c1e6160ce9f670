#include "runtime/net/listener.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

namespace weft::runtime {
namespace {

constexpr Seconds kPauseWithoutDescriptors = 0.1;

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(Reactor& reactor, const std::string& address,
                                                 const Connection::Settings& settings,
                                                 Accepted accepted) {
  if (Status options = check_options(settings.options); !options.ok()) return options.error();
  const auto descriptor = open_listening(address);
  if (!descriptor.ok()) return descriptor.error();
  // Buffer sizes count only when they are set before a connection is made.
  apply_options(*descriptor, settings.options);
  auto state = std::make_shared<State>(reactor);
  state->settings = settings;
  state->accepted = std::move(accepted);
  state->descriptor = *descriptor;
  std::unique_ptr<Listener> listener(new Listener(state));
  listener->port_ = port_of(*descriptor);
  Status added;
  reactor.call([&] {
    added = reactor.add(*descriptor, EPOLLIN, [state](std::uint32_t) { state->accept_all(); });
    if (!added.ok()) state->descriptor = -1;
  });
  if (!added.ok()) {
    ::close(*descriptor);
    return added.error();
  }
  return listener;
}

Listener::~Listener() {
  state_->reactor.call([state = state_] {
    state->open = false;
    state->reactor.cancel(state->timer);
    if (state->descriptor >= 0) {
      state->reactor.remove(state->descriptor);
      ::close(state->descriptor);
    }
    for (const auto& connection : std::exchange(state->unproved, {})) connection->close();
  });
}

void Listener::State::accept_all() {
  while (open && listening) {
    const int accepted_descriptor =
        accept4(descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted_descriptor >= 0) {
      add(accepted_descriptor);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    const bool exhausted =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (exhausted) return pause_for(kPauseWithoutDescriptors);
    // Everything else is about a connection that is gone already.
  }
}

void Listener::State::add(int accepted_descriptor) {
  // The connection is known only after the events are made, so they look it up here.
  const auto self = std::make_shared<std::weak_ptr<Connection>>();
  Connection::Events events;
  events.on_open = [state = shared_from_this(), self] {
    const auto connection = self->lock();
    state->settled(connection);
    if (connection && state->open) state->accepted(connection);
  };
  events.on_close = [state = shared_from_this(), self](End, const std::string&) {
    state->settled(self->lock());
  };
  const auto connection =
      Connection::accept(reactor, accepted_descriptor, settings, std::move(events));
  *self = connection;
  unproved.insert(connection);
  // Others wait with the kernel until these have proved themselves or their time is over.
  if (unproved.size() >= kMostUnproved) listen(false);
}

void Listener::State::settled(const std::shared_ptr<Connection>& connection) {
  unproved.erase(connection);
  if (open && unproved.size() < kMostUnproved) listen(true);
}

void Listener::State::pause_for(Seconds time) {
  listen(false);
  timer = reactor.after(time, [state = shared_from_this()] {
    if (state->open) state->listen(true);
  });
}

void Listener::State::listen(bool on) {
  if (listening == on) return;
  listening = on;
  reactor.modify(descriptor, on ? static_cast<std::uint32_t>(EPOLLIN) : 0U);
}

}  // namespace weft::runtime

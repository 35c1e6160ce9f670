#include "runtime/net/connection_testing.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/stopwatch.h"

namespace weft::runtime {

bool eventually(const std::function<bool()>& condition, Seconds deadline_s) {
  const std::int64_t end = monotonic_ns() + static_cast<std::int64_t>(deadline_s * 1e9);
  while (!condition()) {
    if (monotonic_ns() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void Log::add(const std::string& line) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(line);
  changed_.notify_all();
}

std::vector<std::string> Log::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

bool Log::has(const std::string& line) const {
  const auto all = lines();
  return std::find(all.begin(), all.end(), line) != all.end();
}

testing::AssertionResult Log::wait(const std::string& line) const {
  std::unique_lock lock(mutex_);
  const auto has = [&] { return std::find(lines_.begin(), lines_.end(), line) != lines_.end(); };
  if (changed_.wait_for(lock, std::chrono::duration<double>(kTestDeadline), has)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "no '" << line << "' among " << testing::PrintToString(lines_);
}

Connection::Events Log::events() {
  Connection::Events events;
  events.on_open = [this] { add("open"); };
  events.on_frame = [this](std::uint16_t kind, ByteView body) {
    const std::string text(reinterpret_cast<const char*>(body.data()), body.size());
    add(body.size() > 40 ? fmt::format("{}: {} bytes", kind, body.size())
                         : fmt::format("{}: {}", kind, text));
  };
  events.on_close = [this](End end, const std::string&) { add(std::string(name_of(end))); };
  return events;
}

TestListener::TestListener(const Connection::Settings& settings)
    : reactor(std::move(Reactor::start()).value()) {
  listener = std::move(Listener::open(*reactor, "127.0.0.1:0", settings,
                                      [this](const std::shared_ptr<Connection>& connection) {
                                        accepted.push_back(connection);
                                        log.add("accepted " + connection->peer_label());
                                        Connection::Events events = log.events();
                                        const auto logged = events.on_frame;
                                        events.on_frame = [logged, c = connection.get()](
                                                              std::uint16_t kind, ByteView body) {
                                          logged(kind, body);
                                          const Piece piece{body};
                                          if (kind == 7) c->send(kind, {&piece, 1});
                                        };
                                        connection->set_events(std::move(events));
                                      }))
                 .value();
}

TestListener::~TestListener() {
  listener.reset();
  reactor->call([this] {
    for (const auto& connection : accepted) connection->close();
    accepted.clear();
  });
}

std::string TestListener::address() const { return fmt::format("127.0.0.1:{}", listener->port()); }

Connection::Settings test_settings(const Secret& secret, const std::string& label) {
  Connection::Settings settings;
  settings.identity = {.secret = secret, .job = 5, .label = label};
  settings.handshake_s = 1;
  return settings;
}

RawSocket::RawSocket(const SocketAddress& address)
    : descriptor_(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  CHECK(descriptor_ >= 0);
  CHECK(connect(descriptor_, reinterpret_cast<const sockaddr*>(&address.storage), address.size) ==
        0);
}

RawSocket::~RawSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool RawSocket::write(const std::string& bytes) {
  return send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

std::string RawSocket::read_all(std::size_t most, Seconds deadline_s) {
  const std::int64_t end = monotonic_ns() + static_cast<std::int64_t>(deadline_s * 1e9);
  std::string text;
  while (text.size() < most && monotonic_ns() < end) {
    pollfd wanted{descriptor_, POLLIN, 0};
    if (poll(&wanted, 1, 10) <= 0) continue;
    char bytes[4096];
    const ssize_t got = recv(descriptor_, bytes, std::min(most - text.size(), sizeof bytes), 0);
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
  }
  return text;
}

void RawSocket::reset() {
  const linger at_once{1, 0};
  setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(descriptor_);
  descriptor_ = -1;
}

}  // namespace weft::runtime

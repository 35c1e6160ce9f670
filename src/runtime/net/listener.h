// Accepts connections and hands over those that have proved themselves.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "runtime/net/connection.h"

namespace weft::runtime {

// Connections that have not proved themselves are few and short-lived; they end without a word and
// change nothing.
class Listener {
 public:
  static constexpr std::size_t kMostUnproved = 256;

  // Called on the reactor's thread with an open connection, whose events are to be set there.
  using Accepted = std::function<void(const std::shared_ptr<Connection>&)>;

  // `address` is host:port; port 0 takes a free one. The error names a port that is taken.
  // Requires: the reactor outlives the listener; not on the reactor's thread.
  static Result<std::unique_ptr<Listener>> open(Reactor& reactor, const std::string& address,
                                                const Connection::Settings& settings,
                                                Accepted accepted);
  // Ensures: `accepted` is not called afterwards. Connections that were handed over stay.
  ~Listener();

  int port() const { return port_; }

 private:
  // Shared with what the reactor still holds when the listener goes.
  struct State : std::enable_shared_from_this<State> {
    explicit State(Reactor& r) : reactor(r) {}
    void accept_all();
    void add(int descriptor);
    void settled(const std::shared_ptr<Connection>& connection);
    void pause_for(Seconds time);
    void listen(bool on);

    Reactor& reactor;
    Connection::Settings settings;
    Accepted accepted;
    int descriptor = -1;
    bool listening = true, open = true;
    Reactor::Timer timer = 0;
    std::set<std::shared_ptr<Connection>> unproved;
  };

  explicit Listener(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
  int port_ = 0;
};

}  // namespace weft::runtime

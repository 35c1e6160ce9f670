// Two ends of a connection in one process, and sockets that speak no protocol at all.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/net/listener.h"

namespace weft::runtime {

inline constexpr Seconds kTestDeadline = 20;

// Waits until `condition`, which is asked again and again, or the deadline.
bool eventually(const std::function<bool()>& condition, Seconds deadline_s = kTestDeadline);

// Everything that happened to one end, in order.
class Log {
 public:
  Connection::Events events();
  std::vector<std::string> lines() const;
  bool has(const std::string& line) const;
  // The lines that were seen, when `line` did not come in time.
  testing::AssertionResult wait(const std::string& line) const;
  void add(const std::string& line);

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> lines_;
};

// A reactor with a listener that logs all it accepts; frames of kind 7 are sent back.
struct TestListener {
  explicit TestListener(const Connection::Settings& settings);
  ~TestListener();
  std::string address() const;
  SocketAddress where() const { return *resolve(address()); }

  std::unique_ptr<Reactor> reactor;
  Log log;
  std::vector<std::shared_ptr<Connection>> accepted;  // on the reactor's thread
  std::unique_ptr<Listener> listener;
};

Connection::Settings test_settings(const Secret& secret, const std::string& label);

// A plain blocking socket, for strangers.
class RawSocket {
 public:
  explicit RawSocket(const SocketAddress& address);
  ~RawSocket();
  bool write(const std::string& bytes);
  // What comes until the other side closes, at most `most` bytes or until the deadline.
  std::string read_all(std::size_t most = 1 << 16, Seconds deadline_s = kTestDeadline);
  // Closes with a reset.
  void reset();

 private:
  int descriptor_;
};

}  // namespace weft::runtime

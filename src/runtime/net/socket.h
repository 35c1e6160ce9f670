// Addresses, listening sockets and the options of TCP connections.
#pragma once

#include <sys/socket.h>

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace weft::runtime {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

// "host:port", "[::1]:port". A name is looked up, which may take seconds; numbers never wait.
Result<SocketAddress> resolve(const std::string& address);
std::string text_of(const SocketAddress& address);
// The first address of a network interface such as "eth0", without a port.
Result<std::string> address_of_interface(const std::string& name);
// The address of this host, without a port, from which `address` is reached.
Result<std::string> local_address_towards(const std::string& address);

struct SocketOptions {
  std::string congestion = {};    // of TCP, such as "bbr"; empty: the kernel's default
  double pacing_bytes_per_s = 0;  // at most; 0: no limit
  int dscp = 0;                   // 0 to 63, the mark by which switches tell classes apart
  bool no_delay = true;
  Seconds keepalive_s = 0;  // silence after which the peer is probed, whole seconds; 0: never
  int send_buffer_bytes = 0, receive_buffer_bytes = 0;  // 0: the kernel adapts them
  // The kernel takes no more while it holds so much that was not sent yet, so that what is urgent
  // waits behind little. 0: as much as the send buffer holds.
  int unsent_bytes = 0;
  bool encrypt = false;  // frames, when either side wants it
};

// Error when a value is out of its range, whatever the kernel.
Status check_options(const SocketOptions& options);
// Sets what can be set; the sentence says what the kernel refused and is empty when nothing was.
std::string apply_options(int descriptor, const SocketOptions& options);
// The same sentence from a socket that is thrown away, to be shown once when a job starts.
std::string refused_options(const SocketOptions& options);

// A non-blocking socket that listens. The error names a port that is taken.
Result<int> open_listening(const std::string& address);
int port_of(int descriptor);

}  // namespace weft::runtime

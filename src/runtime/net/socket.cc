#include "runtime/net/socket.h"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace weft::runtime {
namespace {

struct HostPort {
  std::string host, port;
};

Result<HostPort> split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const Error error{ErrorKind::kInvalidInput,
                    fmt::format("'{}' is not an address; it must be host:port", address),
                    "for example 10.0.0.1:29400 or [::1]:29400"};
  if (colon == std::string::npos || colon == 0) return error;
  HostPort parts{address.substr(0, colon), address.substr(colon + 1)};
  const bool digits = !parts.port.empty() && parts.port.size() <= 5 &&
                      parts.port.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoi(parts.port) > 65535) return error;
  if (parts.host.front() == '[' && parts.host.back() == ']') {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  }
  return parts;
}

bool set(int descriptor, int level, int option, int value) {
  return setsockopt(descriptor, level, option, &value, sizeof value) == 0;
}

// Gathers the sentences of what was refused.
class Refusals {
 public:
  void check(bool done, const std::string& what) {
    if (done) return;
    if (!text_.empty()) text_ += "; ";
    text_ += fmt::format("{} was refused ({}), the kernel's default is used", what,
                         std::strerror(errno));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void mark(int descriptor, int dscp, Refusals& refusals) {
  int family = 0;
  socklen_t size = sizeof family;
  getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size);
  // The two lowest bits of the byte belong to congestion notification.
  const bool done = family == AF_INET6 ? set(descriptor, IPPROTO_IPV6, IPV6_TCLASS, dscp << 2)
                                       : set(descriptor, IPPROTO_IP, IP_TOS, dscp << 2);
  refusals.check(done, fmt::format("DSCP mark {}", dscp));
}

void keep_alive(int descriptor, Seconds idle_s, Refusals& refusals) {
  const int seconds = std::max(1, static_cast<int>(std::ceil(idle_s)));
  const bool done = set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1) &&
                    set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, seconds) &&
                    set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 1) &&
                    set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
  refusals.check(done, fmt::format("keepalive after {} s", seconds));
}

}  // namespace

Result<SocketAddress> resolve(const std::string& address) {
  const auto parts = split(address);
  if (!parts.ok()) return parts.error();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
  if (code != 0) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("the host of '{}' is not known: {}", address, gai_strerror(code)), ""};
  }
  SocketAddress result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.size = found->ai_addrlen;
  freeaddrinfo(found);
  return result;
}

std::string text_of(const SocketAddress& address) {
  char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.size, host, sizeof host,
              port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  const bool six = address.storage.ss_family == AF_INET6;
  return six ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<std::string> address_of_interface(const std::string& name) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) {
    return Error{ErrorKind::kIo, fmt::format("interfaces: {}", std::strerror(errno)), ""};
  }
  std::string found;
  for (const ifaddrs* one = all; one != nullptr && found.empty(); one = one->ifa_next) {
    if (one->ifa_addr == nullptr || name != one->ifa_name) continue;
    if (one->ifa_addr->sa_family != AF_INET) continue;
    char host[NI_MAXHOST] = {};
    if (getnameinfo(one->ifa_addr, sizeof(sockaddr_in), host, sizeof host, nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      found = host;
    }
  }
  freeifaddrs(all);
  if (found.empty()) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("there is no interface '{}' with an IPv4 address", name), ""};
  }
  return found;
}

Result<std::string> local_address_towards(const std::string& address) {
  const auto target = resolve(address);
  if (!target.ok()) return target.error();
  // Connecting a datagram socket sends nothing, and the kernel picks the way.
  const int descriptor = socket(target->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  SocketAddress own;
  own.size = sizeof own.storage;
  char host[NI_MAXHOST] = {};
  const bool found =
      descriptor >= 0 &&
      connect(descriptor, reinterpret_cast<const sockaddr*>(&target->storage), target->size) == 0 &&
      getsockname(descriptor, reinterpret_cast<sockaddr*>(&own.storage), &own.size) == 0 &&
      getnameinfo(reinterpret_cast<const sockaddr*>(&own.storage), own.size, host, sizeof host,
                  nullptr, 0, NI_NUMERICHOST) == 0;
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!found) {
    return Error{ErrorKind::kIo,
                 fmt::format("there is no way to {}: {}", address, std::strerror(error)), ""};
  }
  return own.storage.ss_family == AF_INET6 ? fmt::format("[{}]", host) : std::string(host);
}

Status check_options(const SocketOptions& options) {
  const auto wrong = [](const std::string& what, const std::string& range) {
    return Error{ErrorKind::kInvalidInput, what + "; it must be " + range, ""};
  };
  if (options.dscp < 0 || options.dscp > 63) {
    return wrong(fmt::format("the DSCP mark is {}", options.dscp), "0 to 63");
  }
  if (!(options.pacing_bytes_per_s >= 0) || !std::isfinite(options.pacing_bytes_per_s)) {
    return wrong(fmt::format("the pacing is {} bytes/s", options.pacing_bytes_per_s), "at least 0");
  }
  if (!(options.keepalive_s >= 0) || options.keepalive_s > 32767) {
    return wrong(fmt::format("the keepalive time is {} s", options.keepalive_s), "0 to 32767");
  }
  const int least =
      std::min({options.send_buffer_bytes, options.receive_buffer_bytes, options.unsent_bytes});
  if (least < 0) return wrong(fmt::format("a buffer has {} bytes", least), "at least 0");
  if (options.congestion.size() > 15) {
    return wrong("the congestion control is '" + options.congestion + "'", "at most 15 letters");
  }
  return {};
}

std::string apply_options(int descriptor, const SocketOptions& options) {
  Refusals refusals;
  set(descriptor, IPPROTO_TCP, TCP_NODELAY, options.no_delay ? 1 : 0);
  if (!options.congestion.empty()) {
    const bool done = setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, options.congestion.data(),
                                 static_cast<socklen_t>(options.congestion.size())) == 0;
    refusals.check(done, "congestion control '" + options.congestion + "'");
  }
  if (options.pacing_bytes_per_s > 0) {
    const auto rate = static_cast<std::uint64_t>(options.pacing_bytes_per_s);
    const bool done =
        setsockopt(descriptor, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate) == 0;
    refusals.check(done, "pacing");
  }
  if (options.dscp != 0) mark(descriptor, options.dscp, refusals);
  if (options.keepalive_s > 0) keep_alive(descriptor, options.keepalive_s, refusals);
  if (options.send_buffer_bytes > 0) {
    refusals.check(set(descriptor, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes),
                   "the send buffer's size");
  }
  if (options.receive_buffer_bytes > 0) {
    refusals.check(set(descriptor, SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes),
                   "the receive buffer's size");
  }
  if (options.unsent_bytes > 0) {
    refusals.check(set(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, options.unsent_bytes),
                   "the limit of unsent bytes");
  }
  return refusals.take();
}

std::string refused_options(const SocketOptions& options) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return fmt::format("no socket can be opened: {}", std::strerror(errno));
  std::string text = apply_options(descriptor, options);
  close(descriptor);
  return text;
}

Result<int> open_listening(const std::string& address) {
  const auto where = resolve(address);
  if (!where.ok()) return where.error();
  const int descriptor =
      socket(where->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool done = descriptor >= 0;
  if (done) {
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
    done = bind(descriptor, reinterpret_cast<const sockaddr*>(&where->storage), where->size) == 0 &&
           listen(descriptor, SOMAXCONN) == 0;
  }
  if (done) return descriptor;
  const int code = errno;
  if (descriptor >= 0) close(descriptor);
  if (code == EADDRINUSE) {
    return Error{ErrorKind::kIo,
                 fmt::format("port {} of {} is taken by another program",
                             address.substr(address.rfind(':') + 1), address),
                 "choose another port; 0 takes any that is free"};
  }
  return Error{ErrorKind::kIo, fmt::format("cannot listen at {}: {}", address, std::strerror(code)),
               ""};
}

int port_of(int descriptor) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  CHECK(getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &size) == 0);
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

}  // namespace weft::runtime

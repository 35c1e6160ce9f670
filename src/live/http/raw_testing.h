// HTTP as bytes, for tests of what no client would send.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weft::live {

// A connection to a unix socket's path, or to http://127.0.0.1:PORT.
class RawConnection {
 public:
  explicit RawConnection(const std::string& where) {
    if (where.starts_with("http")) {
      sockaddr_in to = {};
      to.sin_family = AF_INET;
      to.sin_port =
          htons(static_cast<std::uint16_t>(std::atoi(where.c_str() + where.rfind(':') + 1)));
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      joined_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    } else {
      sockaddr_un to = {};
      to.sun_family = AF_UNIX;
      std::strncpy(to.sun_path, where.c_str(), sizeof to.sun_path - 1);
      socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      joined_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
  }
  ~RawConnection() { ::close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool joined() const { return joined_; }
  // As much as is taken: a server that refuses stops reading.
  void send(const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t put = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (put <= 0) return;
      sent += static_cast<std::size_t>(put);
    }
  }
  void end_sending() { ::shutdown(socket_, SHUT_WR); }
  // Until the other side closes, or `enough` was seen, or nothing comes for so long.
  std::string read(int silence_ms, const std::string& enough = "") {
    std::string all;
    char buffer[4096];
    pollfd wait = {socket_, POLLIN, 0};
    while (::poll(&wait, 1, silence_ms) > 0) {
      const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
      closed_ = got <= 0;
      if (closed_) break;
      all.append(buffer, static_cast<std::size_t>(got));
      if (!enough.empty() && all.find(enough) != std::string::npos) break;
    }
    return all;
  }
  bool closed() const { return closed_; }

 private:
  int socket_ = -1;
  bool joined_ = false, closed_ = false;
};

// 0: there is none.
inline int status_of(const std::string& reply) {
  return reply.starts_with("HTTP/1.1 ") ? std::atoi(reply.c_str() + 9) : 0;
}

}  // namespace weft::live

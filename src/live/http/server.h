// HTTP/1.1 on a unix socket, where who asks is known from the kernel, and on request on TCP, plain
// or with TLS. Requests are limited in size and time, connections in number.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "live/http/service.h"

namespace weft::live {

struct HttpLimits {
  std::size_t header_bytes = 16 << 10;
  Seconds request_s = 30;  // from the first byte to the last, and for the answer
  Seconds idle_s = 300;    // between requests
  // Until a connection has shown a token, or who it is: to the first whole request.
  Seconds stranger_s = 10;
  std::size_t connections = 512;  // of each listener
};

struct HttpPlaces {
  std::string socket_path;       // may be left over from a process that has died
  std::string address;           // host:port, port 0: any; empty: no TCP
  std::string certificate, key;  // files (PEM); empty: no TLS
};

class HttpServer {
 public:
  // The unix socket is open to every user of the machine. Requests are handled on two threads of
  // its own. Requires: the service outlives this.
  static Result<std::unique_ptr<HttpServer>> open(const HttpPlaces& places, HttpService& service,
                                                  HttpLimits limits = {});
  // Requires: no answer is given afterwards.
  ~HttpServer();
  // Handles nothing more; answers that are still given go nowhere.
  void stop();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where TCP is listened to, http://… or https://…; empty: nowhere.
  std::string url() const;

 private:
  HttpServer();
  Status listen_local(const std::string& path);
  Status listen_tcp(const HttpPlaces& places);
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// Is the host of host:port this machine alone? False also for names but localhost.
bool is_loopback(const std::string& address);

}  // namespace weft::live

// HTTP/1.1 on a unix socket: who asks is known from the kernel. Requests are limited in size and
// time, connections in number.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "live/daemon/api.h"

namespace weft::live {

struct HttpLimits {
  std::size_t body_bytes = 4 << 20;
  std::size_t header_bytes = 16 << 10;
  Seconds request_s = 30;  // from the first byte to the last, and for the answer
  Seconds idle_s = 300;    // between requests
  std::size_t connections = 512;
};

class HttpServer {
 public:
  using Handler = std::function<void(const ApiRequest&, std::function<void(ApiAnswer)>)>;
  // Listens at `path`, which may be left over from a process that has died; open to every user of
  // the machine. Requests are handled on two threads of its own.
  static Result<std::unique_ptr<HttpServer>> open(const std::string& path, Handler handler,
                                                  HttpLimits limits = {});
  // Requires: no answer is given afterwards.
  ~HttpServer();
  // Handles nothing more; answers that are still given go nowhere.
  void stop();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  HttpServer();
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace weft::live

// Asks a daemon on this machine.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace weft::live {

struct HttpReply {
  int status = 0;
  std::string body;
};

// One connection, kept between requests and made anew when it was lost. Not thread-safe.
class HttpClient {
 public:
  explicit HttpClient(std::string socket_path);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // A GET that fails on a kept connection is tried once more on a new one; nothing else is.
  Result<HttpReply> ask(const std::string& method, const std::string& target,
                        const std::string& body = "", Seconds timeout_s = 60);

 private:
  struct Inside;
  std::string path_;
  std::unique_ptr<Inside> inside_;
};

}  // namespace weft::live

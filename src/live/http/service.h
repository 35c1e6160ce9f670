// What an HTTP server asks of whatever answers: requests and answers as values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/http/caller.h"

namespace weft::live {

// What is known of a request before its body has come.
struct HttpHead {
  std::string method, target;
  std::string bearer;          // the token it shows; empty: none
  std::optional<Caller> peer;  // who asks, if the connection tells
};

struct ApiRequest {
  std::string method, target, body;
  Caller caller;
  std::string last_event_id = {};  // of a stream that is taken up again
};

struct ApiAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  // An answer without end: called again and again on the server's threads, several times a second,
  // for what comes next. Empty: nothing yet; nullopt: it is over.
  std::function<std::optional<std::string>()> more = {};
  std::string beat = {};  // sent when nothing came for long, so that who has gone is noticed
};

// Whether the rest of a request is worth reading.
struct Admission {
  std::optional<ApiAnswer> refused;
  Caller caller;
  std::size_t most_body = 0;  // bytes
};

// Thread-safe.
class HttpService {
 public:
  using Answer = std::function<void(ApiAnswer)>;
  virtual ~HttpService() = default;
  virtual Admission admit(const HttpHead& head) = 0;
  // Of a request that was admitted. Calls `answer` once, now or later, from any thread.
  virtual void handle(const ApiRequest& request, Answer answer) = 0;
};

}  // namespace weft::live

// Asks a daemon, on this machine or over a network.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace weft::live {

struct HttpReply {
  int status = 0;
  std::string body;
};

// Where a daemon is and how to ask it.
struct Endpoint {
  std::string socket_path;  // of a unix socket; empty: TCP
  std::string host, port;
  bool tls = false;
  std::string token;
  std::string ca_file;  // whom to believe; empty: whom the system believes

  std::string text() const;  // for messages: no secret
};

// http://host:port, https://host:port or unix:/path.
Result<Endpoint> parse_url(const std::string& url);
// The unix socket of `store` if one is named; else what WEFT_URL says, with the token of
// WEFT_TOKEN_FILE (which only its owner may read) or WEFT_TOKEN and the certificates of
// WEFT_CA_FILE; else the socket of `usual_store`.
Result<Endpoint> endpoint_of(const std::string& store, const std::string& usual_store);

// One connection, kept between requests and made anew when it was lost. Not thread-safe.
class HttpClient {
 public:
  explicit HttpClient(std::string socket_path);
  explicit HttpClient(Endpoint endpoint);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // A GET that fails on a kept connection is tried once more on a new one; nothing else is.
  Result<HttpReply> ask(const std::string& method, const std::string& target,
                        const std::string& body = "", Seconds timeout_s = 60);
  // An answer that comes piece by piece: each piece is handed on as it comes, until the answer ends
  // or `each` returns false. A status of 400 or more: the reply is returned whole. `silence_s`: how
  // long nothing may come.
  Result<HttpReply> follow(const std::string& method, const std::string& target,
                           const std::string& body,
                           const std::function<bool(std::string_view)>& each,
                           const std::string& last_event_id = "", Seconds silence_s = 60);

 private:
  struct Inside;
  Error unreachable(const std::string& why);
  Status connect(Seconds timeout_s);

  Endpoint endpoint_;
  std::unique_ptr<Inside> inside_;
};

}  // namespace weft::live

#include "live/http/client.h"

#include <fmt/core.h>
#include <openssl/ssl.h>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "live/http/stream.h"

namespace weft::live {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Local = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;
using Code = beast::error_code;
constexpr std::uint64_t kMostBody = std::uint64_t{1} << 30;

}  // namespace

struct HttpClient::Inside {
  asio::io_context context;
  std::optional<asio::ssl::context> tls;
  HttpStream stream{context};
  beast::flat_buffer buffer;

  // The time limit of a stream holds for asynchronous calls only: everything is one.
  void run() {
    context.restart();
    context.run();
  }
  Code connect_tcp(const Endpoint& at, Seconds timeout_s) {
    Code failed;
    Tcp::resolver resolver(context);
    const auto found = resolver.resolve(at.host, at.port, failed);
    if (failed) return failed;
    stream.expire(timeout_s);
    failed = asio::error::host_not_found;
    for (const auto& place : found) {
      stream.async_connect(place.endpoint(), [&](Code why) { failed = why; });
      run();
      if (!failed || failed == beast::error::timeout) break;
      Code ignored;
      stream.socket().close(ignored);  // the next address may be of another family
    }
    Code not_set;
    if (!failed) stream.socket().set_option(Tcp::no_delay(true), not_set);
    return failed;
  }
  // Believes a host only if a certificate says that it is it.
  Code shake_hands(const Endpoint& at) {
    Code failed;
    tls->set_verify_mode(asio::ssl::verify_peer, failed);
    if (!failed) tls->set_verify_callback(asio::ssl::host_name_verification(at.host), failed);
    if (failed) return failed;
    stream.use_tls(*tls);
    SSL_set_tlsext_host_name(stream.tls_handle(), at.host.c_str());
    stream.async_handshake(asio::ssl::stream_base::client, [&](Code why) { failed = why; });
    run();
    return failed;
  }
};

HttpClient::HttpClient(std::string socket_path) { endpoint_.socket_path = std::move(socket_path); }
HttpClient::HttpClient(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Error HttpClient::unreachable(const std::string& why) {
  inside_.reset();
  return Error{ErrorKind::kNotFound,
               fmt::format("no daemon answers at {}: {}", endpoint_.text(), why),
               endpoint_.socket_path.empty() ? "look at WEFT_URL, and for https at WEFT_CA_FILE"
                                             : "start one with `weft up`, or name its --store"};
}

Status HttpClient::connect(Seconds timeout_s) {
  inside_ = std::make_unique<Inside>();
  Inside& in = *inside_;
  Code failed;
  if (!endpoint_.socket_path.empty()) {
    if (endpoint_.socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
      return unreachable("a socket's path is not that long");
    }
    in.stream.socket().connect(Local::endpoint(endpoint_.socket_path), failed);
  } else if (!endpoint_.tls) {
    failed = in.connect_tcp(endpoint_, timeout_s);
  } else {
    in.tls.emplace(asio::ssl::context::tls_client);
    if (endpoint_.ca_file.empty()) {
      in.tls->set_default_verify_paths(failed);
    } else {
      in.tls->load_verify_file(endpoint_.ca_file, failed);
    }
    if (failed) return unreachable(fmt::format("{}: {}", endpoint_.ca_file, failed.message()));
    failed = in.connect_tcp(endpoint_, timeout_s);
    if (!failed) failed = in.shake_hands(endpoint_);
  }
  if (failed) return unreachable(failed.message());
  return {};
}

namespace {

http::request<http::string_body> request_of(const Endpoint& to, const std::string& method,
                                            const std::string& target, const std::string& body) {
  http::request<http::string_body> request;
  request.method_string(method);
  request.target(target);
  request.version(11);
  request.set(http::field::host, to.host.empty() ? "weft" : to.host);
  if (!to.token.empty()) request.set(http::field::authorization, "Bearer " + to.token);
  request.body() = body;
  request.prepare_payload();
  return request;
}

// A server that refuses a large body answers and closes before all of it was sent.
bool may_be_answered(const Code& why) {
  return !why || why == asio::error::broken_pipe || why == asio::error::connection_reset;
}

}  // namespace

Result<HttpReply> HttpClient::ask(const std::string& method, const std::string& target,
                                  const std::string& body, Seconds timeout_s) {
  const bool kept = inside_ != nullptr;
  if (!kept) {
    if (const Status joined = connect(timeout_s); !joined.ok()) return joined.error();
  }
  Inside& in = *inside_;
  const auto request = request_of(endpoint_, method, target, body);
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMostBody);
  Code failed;
  in.stream.expire(timeout_s);
  http::async_write(in.stream, request, [&](Code why, std::size_t) {
    if (!may_be_answered(why)) {
      failed = why;
      return;
    }
    http::async_read(in.stream, in.buffer, parser, [&](Code then, std::size_t) { failed = then; });
  });
  in.run();
  if (failed) {
    const Error error = unreachable(failed.message());
    return kept && method == "GET" ? ask(method, target, body, timeout_s)
                                   : Result<HttpReply>(error);
  }
  const auto& response = parser.get();
  HttpReply reply{static_cast<int>(response.result_int()), response.body()};
  if (!response.keep_alive()) inside_.reset();
  return reply;
}

Result<HttpReply> HttpClient::follow(const std::string& method, const std::string& target,
                                     const std::string& body,
                                     const std::function<bool(std::string_view)>& each,
                                     const std::string& last_event_id, Seconds silence_s) {
  if (const Status joined = connect(silence_s); !joined.ok()) return joined.error();
  Inside& in = *inside_;
  auto request = request_of(endpoint_, method, target, body);
  if (!last_event_id.empty()) request.set("Last-Event-ID", last_event_id);
  http::response_parser<http::string_body> parser;
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  Code failed;
  in.stream.expire(silence_s);
  http::async_write(in.stream, request, [&](Code why, std::size_t) {
    failed = why;
    if (may_be_answered(why)) {
      http::async_read_header(in.stream, in.buffer, parser,
                              [&](Code then, std::size_t) { failed = then; });
    }
  });
  in.run();
  const bool whole = !failed && parser.get().result_int() >= 400;
  bool wanted = true;
  while (!failed && wanted && !parser.is_done()) {
    in.stream.expire(silence_s);
    http::async_read_some(in.stream, in.buffer, parser,
                          [&](Code why, std::size_t) { failed = why; });
    in.run();
    if (whole || parser.get().body().empty()) continue;
    wanted = each(parser.get().body());
    parser.get().body().clear();
  }
  if (failed) return unreachable(failed.message());
  HttpReply reply{static_cast<int>(parser.get().result_int()), parser.get().body()};
  inside_.reset();
  return reply;
}

}  // namespace weft::live

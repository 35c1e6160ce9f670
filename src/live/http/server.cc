#include "live/http/server.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "live/http/session.h"
#include "live/http/stream.h"

namespace weft::live {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Local = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;
using Socket = HttpStream::Plain::socket_type;

constexpr int kThreads = 2;

struct HostPort {
  asio::ip::address host;
  std::uint16_t port = 0;
};

Result<HostPort> parse_address(const std::string& text) {
  const Error wrong{ErrorKind::kInvalidInput, fmt::format("'{}' is no address to listen at", text),
                    "write 127.0.0.1:8080, 0.0.0.0:8443 or [::1]:8080; port 0 takes any"};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong;
  std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos ||
      std::stoi(port) > 65535) {
    return wrong;
  }
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  beast::error_code failed;
  HostPort out{asio::ip::make_address(host, failed), static_cast<std::uint16_t>(std::stoi(port))};
  if (failed) return wrong;
  return out;
}

Result<std::unique_ptr<asio::ssl::context>> tls_of(const HttpPlaces& places) {
  auto tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                   asio::ssl::context::no_tlsv1_1);
  beast::error_code failed;
  tls->use_certificate_chain_file(places.certificate, failed);
  if (failed) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("{}: is no certificate chain (PEM): {}", places.certificate, failed.message()),
        ""};
  }
  tls->use_private_key_file(places.key, asio::ssl::context::pem, failed);
  if (failed) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("{}: is no key (PEM) of that certificate: {}", places.key, failed.message()),
        ""};
  }
  return tls;
}

}  // namespace

bool is_loopback(const std::string& address) {
  const auto parsed = parse_address(address);
  return parsed.ok() && parsed->host.is_loopback();
}

struct HttpServer::Inside {
  Inside(HttpService& service, HttpLimits given)
      : limits(given),
        local_share(new SessionShare{service, limits}),
        tcp_share(new SessionShare{service, limits}),
        local(context),
        tcp(context) {}

  void accept_local() {
    local.async_accept(
        asio::make_strand(context), [this](beast::error_code failed, Local::socket socket) {
          if (failed == asio::error::operation_aborted) return;
          if (!failed && local_share->open < limits.connections) {
            if (auto peer = caller_at(socket.native_handle())) {
              begin_session(HttpStream(Socket(std::move(socket))), local_share, peer);
            }
          }
          accept_local();
        });
  }
  void accept_tcp() {
    tcp.async_accept(asio::make_strand(context),
                     [this](beast::error_code failed, Tcp::socket socket) {
                       if (failed == asio::error::operation_aborted) return;
                       if (!failed && tcp_share->open < limits.connections)
                         welcome(std::move(socket));
                       accept_tcp();
                     });
  }
  void welcome(Tcp::socket socket) {
    beast::error_code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    HttpStream stream(Socket(std::move(socket)));
    if (tls != nullptr) stream.use_tls(*tls);
    begin_session(std::move(stream), tcp_share, std::nullopt);
  }

  HttpLimits limits;
  std::shared_ptr<SessionShare> local_share, tcp_share;
  asio::io_context context;
  Local::acceptor local;
  Tcp::acceptor tcp;
  std::unique_ptr<asio::ssl::context> tls;
  std::string path;
  std::vector<std::thread> threads;
};

HttpServer::HttpServer() = default;

Status HttpServer::listen_local(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: a socket's path has at most {} letters", path,
                             sizeof(sockaddr_un::sun_path) - 1),
                 "give a shorter --store"};
  }
  Inside& in = *inside_;
  ::unlink(path.c_str());
  beast::error_code failed;
  in.local.open(Local(), failed);
  if (!failed) in.local.bind(Local::endpoint(path), failed);
  if (!failed) in.local.listen(128, failed);
  if (failed) return Error{ErrorKind::kIo, fmt::format("{}: {}", path, failed.message()), ""};
  in.path = path;
  ::chmod(path.c_str(), 0666);  // what a caller may do is decided by who it is
  in.accept_local();
  return {};
}

Status HttpServer::listen_tcp(const HttpPlaces& places) {
  Inside& in = *inside_;
  const auto where = parse_address(places.address);
  if (!where.ok()) return where.error();
  if (!places.certificate.empty() || !places.key.empty()) {
    auto tls = tls_of(places);
    if (!tls.ok()) return tls.error();
    in.tls = std::move(*tls);
  }
  const Tcp::endpoint endpoint(where->host, where->port);
  beast::error_code failed;
  in.tcp.open(endpoint.protocol(), failed);
  if (!failed) in.tcp.set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed) in.tcp.bind(endpoint, failed);
  if (!failed) in.tcp.listen(128, failed);
  if (failed) {
    return Error{ErrorKind::kIo, fmt::format("{}: {}", places.address, failed.message()),
                 "give another --listen; port 0 takes any that is free"};
  }
  in.accept_tcp();
  return {};
}

Result<std::unique_ptr<HttpServer>> HttpServer::open(const HttpPlaces& places, HttpService& service,
                                                     HttpLimits limits) {
  std::unique_ptr<HttpServer> server(new HttpServer);
  server->inside_ = std::make_unique<Inside>(service, limits);
  Inside& in = *server->inside_;
  if (const Status heard = server->listen_local(places.socket_path); !heard.ok()) {
    return heard.error();
  }
  if (!places.address.empty()) {
    if (const Status heard = server->listen_tcp(places); !heard.ok()) return heard.error();
  }
  for (int i = 0; i < kThreads; ++i) in.threads.emplace_back([&in] { in.context.run(); });
  return server;
}

std::string HttpServer::url() const {
  beast::error_code failed;
  const Tcp::endpoint at = inside_->tcp.local_endpoint(failed);
  if (failed) return "";
  const std::string host = at.address().to_string();
  return fmt::format("{}://{}:{}", inside_->tls == nullptr ? "http" : "https",
                     at.address().is_v6() ? "[" + host + "]" : host, at.port());
}

void HttpServer::stop() {
  inside_->context.stop();
  for (std::thread& thread : inside_->threads) thread.join();
  inside_->threads.clear();
}

HttpServer::~HttpServer() {
  if (inside_ == nullptr) return;
  stop();
  if (!inside_->path.empty()) ::unlink(inside_->path.c_str());
}

}  // namespace weft::live

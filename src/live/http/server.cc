#include "live/http/server.h"

#include <utility>  // before Asio, which forgets it

#include <fmt/format.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <thread>
#include <vector>

namespace weft::live {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Local = asio::local::stream_protocol;
using Stream = beast::basic_stream<Local>;

constexpr int kThreads = 2;

std::string name_of_user(uid_t uid) {
  passwd entry = {};
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return std::to_string(uid);
}

std::chrono::milliseconds milliseconds(Seconds s) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(s * 1000));
}

// One connection: a request, its answer, the next request.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Local::socket socket, const HttpServer::Handler& handler, const HttpLimits& limits,
          std::shared_ptr<std::atomic<std::size_t>> open)
      : stream_(std::move(socket)), handler_(handler), limits_(limits), open_(std::move(open)) {
    ++*open_;
    ucred peer = {};
    socklen_t size = sizeof peer;
    if (getsockopt(stream_.socket().native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
      caller_ = {peer.uid, peer.gid, name_of_user(peer.uid),
                 peer.uid == 0 || peer.uid == getuid() ? Role::kAdmin : Role::kUser};
      known_ = true;
    }
  }
  ~Session() { --*open_; }

  void read() {
    if (!known_) return;
    parser_.emplace();
    parser_->body_limit(limits_.body_bytes);
    parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    stream_.expires_after(milliseconds(buffer_.size() > 0 ? limits_.request_s : limits_.idle_s));
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code failed, std::size_t) {
                       self->was_read(failed);
                     });
  }

 private:
  void was_read(beast::error_code failed) {
    if (failed == http::error::end_of_stream) return;
    if (failed == http::error::body_limit) return refuse(413, "the body is too large");
    if (failed == http::error::header_limit) return refuse(431, "the header is too large");
    if (failed.category() == http::make_error_code(http::error::bad_method).category()) {
      return refuse(400, "this is no HTTP request");
    }
    if (failed) return;
    const auto& request = parser_->get();
    ApiRequest asked;
    asked.method = std::string(request.method_string());
    asked.target = std::string(request.target());
    asked.body = request.body();
    asked.caller = caller_;
    keep_ = request.keep_alive();
    handler_(asked, [self = shared_from_this()](ApiAnswer answer) {
      asio::post(self->stream_.get_executor(),
                 [self, answer = std::move(answer)] { self->write(answer); });
    });
  }
  void refuse(int status, const char* what) {
    keep_ = false;
    write({status, fmt::format("{{\"error\":\"{}\"}}\n", what), "application/json"});
  }
  void write(const ApiAnswer& answer) {
    response_.emplace();
    response_->result(static_cast<unsigned>(answer.status));
    response_->version(11);
    response_->set(http::field::content_type, answer.type);
    response_->set(http::field::cache_control, "no-store");
    if (!answer.allow.empty()) response_->set(http::field::allow, answer.allow);
    response_->keep_alive(keep_);
    response_->body() = answer.body;
    response_->prepare_payload();
    stream_.expires_after(milliseconds(limits_.request_s));
    http::async_write(stream_, *response_,
                      [self = shared_from_this()](beast::error_code failed, std::size_t) {
                        if (failed || !self->keep_) return self->close();
                        self->read();
                      });
  }
  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(Local::socket::shutdown_send, ignored);
  }

  Stream stream_;
  const HttpServer::Handler& handler_;
  const HttpLimits& limits_;
  std::shared_ptr<std::atomic<std::size_t>> open_;
  Caller caller_;
  bool known_ = false, keep_ = true;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
};

}  // namespace

struct HttpServer::Inside {
  explicit Inside(Handler to) : acceptor(context), handler(std::move(to)) {}

  void accept() {
    acceptor.async_accept(
        asio::make_strand(context), [this](beast::error_code failed, Local::socket socket) {
          if (failed == asio::error::operation_aborted) return;
          if (!failed && *open < limits.connections) {
            std::make_shared<Session>(std::move(socket), handler, limits, open)->read();
          }
          accept();
        });
  }

  asio::io_context context;
  Local::acceptor acceptor;
  Handler handler;
  HttpLimits limits;
  std::shared_ptr<std::atomic<std::size_t>> open = std::make_shared<std::atomic<std::size_t>>(0);
  std::string path;
  std::vector<std::thread> threads;
};

HttpServer::HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::open(const std::string& path, Handler handler,
                                                     HttpLimits limits) {
  std::unique_ptr<HttpServer> server(new HttpServer);
  server->inside_ = std::make_unique<Inside>(std::move(handler));
  Inside& in = *server->inside_;
  in.limits = limits;
  in.path = path;
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: a socket's path has at most {} letters", path,
                             sizeof(sockaddr_un::sun_path) - 1),
                 "give a shorter --store"};
  }
  ::unlink(path.c_str());
  beast::error_code failed;
  in.acceptor.open(Local(), failed);
  if (!failed) in.acceptor.bind(Local::endpoint(path), failed);
  if (!failed) in.acceptor.listen(128, failed);
  if (failed) return Error{ErrorKind::kIo, fmt::format("{}: {}", path, failed.message()), ""};
  ::chmod(path.c_str(), 0666);  // what a caller may do is decided by who it is
  in.accept();
  for (int i = 0; i < kThreads; ++i) in.threads.emplace_back([&in] { in.context.run(); });
  return server;
}

void HttpServer::stop() {
  inside_->context.stop();
  for (std::thread& thread : inside_->threads) thread.join();
  inside_->threads.clear();
}

HttpServer::~HttpServer() {
  if (inside_ == nullptr) return;
  stop();
  ::unlink(inside_->path.c_str());
}

}  // namespace weft::live

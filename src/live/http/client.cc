#include "live/http/client.h"

#include <utility>  // before Asio, which forgets it

#include <fmt/format.h>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace weft::live {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Local = asio::local::stream_protocol;

constexpr std::uint64_t kMostBody = std::uint64_t{1} << 30;

}  // namespace

struct HttpClient::Inside {
  asio::io_context context;
  beast::basic_stream<Local> stream{context};
  bool fresh = true;
};

HttpClient::HttpClient(std::string socket_path) : path_(std::move(socket_path)) {}
HttpClient::~HttpClient() = default;

Result<HttpReply> HttpClient::ask(const std::string& method, const std::string& target,
                                  const std::string& body, Seconds timeout_s) {
  const bool kept = inside_ != nullptr;
  const auto unreachable = [&](const beast::error_code& why) {
    inside_.reset();
    return Error{ErrorKind::kNotFound,
                 fmt::format("no daemon answers at {}: {}", path_, why.message()),
                 "start one with `weft up`, or name its --store"};
  };
  beast::error_code failed;
  if (!kept) {
    inside_ = std::make_unique<Inside>();
    inside_->stream.socket().connect(Local::endpoint(path_), failed);
    if (failed) return unreachable(failed);
  }
  http::request<http::string_body> request;
  request.method_string(method);
  request.target(target);
  request.version(11);
  request.set(http::field::host, "weft");
  request.body() = body;
  request.prepare_payload();
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMostBody);
  beast::flat_buffer buffer;
  inside_->stream.expires_after(std::chrono::milliseconds(static_cast<int>(timeout_s * 1000)));
  // The time limit of a stream holds for asynchronous calls only.
  http::async_write(inside_->stream, request, [&](beast::error_code why, std::size_t) {
    // A server that refuses a large body answers and closes before all of it was sent.
    if (why && why != asio::error::broken_pipe && why != asio::error::connection_reset) {
      failed = why;
      return;
    }
    http::async_read(inside_->stream, buffer, parser,
                     [&](beast::error_code then, std::size_t) { failed = then; });
  });
  inside_->context.restart();
  inside_->context.run();
  if (failed) {
    const Error error = unreachable(failed);
    return kept && method == "GET" ? ask(method, target, body, timeout_s)
                                   : Result<HttpReply>(error);
  }
  const auto& response = parser.get();
  HttpReply reply{static_cast<int>(response.result_int()), response.body()};
  if (!response.keep_alive()) inside_.reset();
  return reply;
}

}  // namespace weft::live

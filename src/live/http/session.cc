#include "live/http/session.h"

#include <fmt/core.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace weft::live {
namespace {

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(HttpStream stream, std::shared_ptr<SessionShare> share, std::optional<Caller> peer)
      : stream_(std::move(stream)),
        share_(std::move(share)),
        peer_(std::move(peer)),
        known_(peer_.has_value()),
        timer_(stream_.get_executor()) {
    ++share_->open;
  }
  ~Session() { --share_->open; }

  void begin() {
    if (stream_.has_tls()) {
      expire(share_->limits.stranger_s);
      stream_.async_handshake(boost::asio::ssl::stream_base::server,
                              [self = shared_from_this()](Code failed) {
                                if (!failed) self->wait_for_request();
                              });
    } else {
      wait_for_request();
    }
  }

 private:
  using Code = boost::beast::error_code;
  using Request = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  using Head = boost::beast::http::response<boost::beast::http::empty_body>;
  static constexpr auto kLookEvery = std::chrono::milliseconds(50);
  static constexpr int kLooksPerBeat = 200;  // ten seconds
  static constexpr Seconds kDrain = 2;
  static constexpr std::uint64_t kAnyBody = std::numeric_limits<std::uint64_t>::max();

  void expire(Seconds s) { stream_.expire(s); }

  // The time of a request begins with its first byte; before that, a connection may be idle.
  void wait_for_request() {
    if (buffer_.size() > 0) return read_head();
    expire(known_ ? share_->limits.idle_s : share_->limits.stranger_s);
    stream_.async_read_some(buffer_.prepare(4096),
                            [self = shared_from_this()](Code failed, std::size_t got) {
                              if (failed) return;
                              self->buffer_.commit(got);
                              self->read_head();
                            });
  }
  void read_head() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(share_->limits.header_bytes));
    parser_->body_limit(kAnyBody);  // until it is known what is asked
    expire(known_ ? share_->limits.request_s : share_->limits.stranger_s);
    boost::beast::http::async_read_header(stream_, buffer_, *parser_,
                                          [self = shared_from_this()](Code failed, std::size_t) {
                                            if (!failed) return self->judge();
                                            self->was_malformed(failed);
                                          });
  }
  void was_malformed(Code failed) {
    namespace http = boost::beast::http;
    if (failed == http::error::body_limit) return refuse(413, "the body is too large");
    if (failed == http::error::header_limit) return refuse(431, "the header is too large");
    if (failed == http::error::end_of_stream || failed == http::error::partial_message) return;
    if (failed.category() == http::make_error_code(http::error::bad_method).category()) {
      return refuse(400, "this is no HTTP request");
    }
  }
  void judge() {
    namespace http = boost::beast::http;
    const auto& head = parser_->get();
    HttpHead asked{std::string(head.method_string()), std::string(head.target()), "", peer_};
    const auto shown = head[http::field::authorization];
    if (boost::beast::iequals(shown.substr(0, 7), "bearer ")) {
      asked.bearer = std::string(shown.substr(7));
    }
    keep_ = head.keep_alive();
    Admission admission = share_->service.admit(asked);
    if (admission.refused) {
      keep_ = keep_ && known_ && parser_->is_done();
      return write(std::move(*admission.refused));
    }
    known_ = true;
    const auto length = parser_->content_length();
    if (length && *length > admission.most_body) {
      return refuse(413,
                    fmt::format("a body of {} bytes; at most {}", *length, admission.most_body));
    }
    request_ = {asked.method, asked.target, "", admission.caller,
                std::string(head["Last-Event-ID"])};
    parser_->body_limit(admission.most_body);
    expire(share_->limits.request_s);
    if (!parser_->is_done() && boost::beast::iequals(head[http::field::expect], "100-continue")) {
      static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
      boost::asio::async_write(stream_, boost::asio::buffer(kGoOn.data(), kGoOn.size()),
                               [self = shared_from_this()](Code failed, std::size_t) {
                                 if (!failed) self->read_body();
                               });
      return;
    }
    read_body();
  }
  void read_body() {
    boost::beast::http::async_read(stream_, buffer_, *parser_,
                                   [self = shared_from_this()](Code failed, std::size_t) {
                                     if (failed) return self->was_malformed(failed);
                                     self->request_.body = std::move(self->parser_->get().body());
                                     self->hand_over();
                                   });
  }
  void hand_over() {
    stream_.expire_never();  // an answer takes what the journal takes
    share_->service.handle(request_, [self = shared_from_this()](ApiAnswer answer) {
      boost::asio::post(self->stream_.get_executor(), [self, answer = std::move(answer)]() mutable {
        self->write(std::move(answer));
      });
    });
  }
  void refuse(int status, const std::string& what) {
    keep_ = false;
    write({status, fmt::format("{{\"error\":\"{}\"}}\n", what), "application/json", {}, {}, {}});
  }

  template <typename Message>
  void fill(Message& message, const ApiAnswer& answer) {
    namespace http = boost::beast::http;
    message.result(static_cast<unsigned>(answer.status));
    message.version(11);
    message.set(http::field::content_type, answer.type);
    message.set(http::field::cache_control, "no-store");
    for (const auto& [name, value] : answer.headers) message.set(name, value);
    message.keep_alive(keep_);
  }
  void write(ApiAnswer answer) {
    expire(share_->limits.request_s);
    if (answer.more) return begin_stream(std::move(answer));
    response_.emplace();
    fill(*response_, answer);
    response_->body() = std::move(answer.body);
    response_->prepare_payload();
    boost::beast::http::async_write(stream_, *response_,
                                    [self = shared_from_this()](Code failed, std::size_t) {
                                      if (failed || !self->keep_) return self->close();
                                      self->wait_for_request();
                                    });
  }

  // An answer without end, in chunks; something is sent now and then, so that whoever has gone is
  // noticed.
  void begin_stream(ApiAnswer answer) {
    more_ = std::move(answer.more);
    beat_ = answer.beat;
    keep_ = false;
    head_.emplace();
    fill(*head_, answer);
    head_->chunked(true);
    serializer_.emplace(*head_);
    boost::beast::http::async_write_header(stream_, *serializer_,
                                           [self = shared_from_this()](Code failed, std::size_t) {
                                             if (!failed) self->go_on();
                                           });
  }
  void go_on() {
    auto next = more_();
    if (next && next->empty() && ++silent_ > kLooksPerBeat) next = beat_;
    if (next && next->empty()) {
      timer_.expires_after(kLookEvery);
      timer_.async_wait([self = shared_from_this()](Code failed) {
        if (!failed) self->go_on();
      });
      return;
    }
    silent_ = 0;
    const bool last = !next.has_value();
    chunk_ = last ? "0\r\n\r\n" : fmt::format("{:x}\r\n{}\r\n", next->size(), *next);
    expire(share_->limits.request_s);
    boost::asio::async_write(stream_, boost::asio::buffer(chunk_),
                             [self = shared_from_this(), last](Code failed, std::size_t) {
                               if (failed || last) return self->close();
                               self->go_on();
                             });
  }

  // What was not read is read and dropped for a while: closing with bytes unread would take the
  // answer back on TCP.
  void close() {
    Code ignored;
    stream_.socket().shutdown(boost::asio::socket_base::shutdown_send, ignored);
    if (parser_ && parser_->is_done()) return;
    expire(kDrain);
    drain();
  }
  void drain() {
    buffer_.clear();
    stream_.read_plain(buffer_.prepare(65536),
                       [self = shared_from_this()](Code failed, std::size_t) {
                         if (!failed) self->drain();
                       });
  }

  HttpStream stream_;
  std::shared_ptr<SessionShare> share_;
  std::optional<Caller> peer_;
  bool known_, keep_ = true;
  boost::beast::flat_buffer buffer_;
  std::optional<Request> parser_;
  std::optional<Response> response_;
  ApiRequest request_;
  // Of an answer without end.
  std::function<std::optional<std::string>()> more_;
  std::optional<Head> head_;
  std::optional<boost::beast::http::response_serializer<boost::beast::http::empty_body>>
      serializer_;
  std::string chunk_, beat_;
  int silent_ = 0;  // looks since something was sent
  boost::asio::steady_timer timer_;
};

}  // namespace

void begin_session(HttpStream stream, std::shared_ptr<SessionShare> share,
                   std::optional<Caller> peer) {
  std::make_shared<Session>(std::move(stream), std::move(share), std::move(peer))->begin();
}

}  // namespace weft::live

#include "live/http/stream.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "live/http/milliseconds.h"

namespace weft::live {

struct HttpStream::Tls {
  boost::asio::ssl::stream<Plain&> stream;
};

HttpStream::HttpStream(Plain::socket_type socket)
    : plain_(std::make_unique<Plain>(std::move(socket))) {}
HttpStream::HttpStream(boost::asio::io_context& context)
    : plain_(std::make_unique<Plain>(context)) {}
HttpStream::~HttpStream() = default;
HttpStream::HttpStream(HttpStream&&) noexcept = default;

void HttpStream::expire(Seconds s) { plain_->expires_after(milliseconds(s)); }
void HttpStream::expire_never() { plain_->expires_never(); }

void HttpStream::async_connect(const Plain::endpoint_type& to, std::function<void(Code)> done) {
  plain_->async_connect(to, std::move(done));
}

void HttpStream::use_tls(boost::asio::ssl::context& context) {
  tls_.reset(new Tls{boost::asio::ssl::stream<Plain&>(*plain_, context)});
}

::SSL* HttpStream::tls_handle() { return tls_->stream.native_handle(); }

void HttpStream::async_handshake(boost::asio::ssl::stream_base::handshake_type side,
                                 std::function<void(Code)> done) {
  tls_->stream.async_handshake(side, std::move(done));
}

void HttpStream::read_some(boost::asio::mutable_buffer into, Done done) {
  if (tls_ != nullptr) return tls_->stream.async_read_some(into, std::move(done));
  plain_->async_read_some(into, std::move(done));
}

void HttpStream::write_some(const Pieces& pieces, Done done) {
  if (tls_ != nullptr) return tls_->stream.async_write_some(pieces, std::move(done));
  plain_->async_write_some(pieces, std::move(done));
}

void HttpStream::read_plain(boost::asio::mutable_buffer into, Done done) {
  plain_->async_read_some(into, std::move(done));
}

}  // namespace weft::live

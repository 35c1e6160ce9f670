// A connection that speaks HTTP, whatever carries it: a local socket, TCP, or TLS over TCP. Beast's
// operations are templates over streams and handlers; with one type of each they are compiled once.
#pragma once

#include <utility>  // before Asio, which forgets it

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>

#include "base/units.h"

namespace weft::live {

// Models AsyncReadStream and AsyncWriteStream; handlers only, no other completion tokens.
// Thread-safety: none; calls and handlers run on the executor of the socket.
class HttpStream {
 public:
  using Code = boost::beast::error_code;
  using Plain = boost::beast::basic_stream<boost::asio::generic::stream_protocol>;
  using executor_type = Plain::executor_type;

  explicit HttpStream(Plain::socket_type socket);
  explicit HttpStream(boost::asio::io_context& context);
  ~HttpStream();
  HttpStream(HttpStream&&) noexcept;

  executor_type get_executor() { return plain_->get_executor(); }
  Plain::socket_type& socket() { return plain_->socket(); }

  // Ends the operation under way, and every later one, `s` from now, until it is called again.
  void expire(Seconds s);
  void expire_never();

  void async_connect(const Plain::endpoint_type& to, std::function<void(Code)> done);

  // Ensures: what is read and written from here on is encrypted. Requires: `context` outlives this.
  void use_tls(boost::asio::ssl::context& context);
  bool has_tls() const { return tls_ != nullptr; }
  ::SSL* tls_handle();
  void async_handshake(boost::asio::ssl::stream_base::handshake_type side,
                       std::function<void(Code)> done);

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& done) {
    boost::asio::mutable_buffer first;
    for (auto it = boost::asio::buffer_sequence_begin(buffers);
         it != boost::asio::buffer_sequence_end(buffers) && first.size() == 0; ++it) {
      first = *it;
    }
    read_some(first, shared(std::forward<Handler>(done)));
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& done) {
    Pieces pieces;
    std::size_t count = 0;
    for (auto it = boost::asio::buffer_sequence_begin(buffers);
         it != boost::asio::buffer_sequence_end(buffers) && count < pieces.size(); ++it) {
      if (boost::asio::const_buffer(*it).size() > 0) pieces[count++] = *it;
    }
    write_some(pieces, shared(std::forward<Handler>(done)));
  }

  // Reads past TLS, to drop what comes.
  void read_plain(boost::asio::mutable_buffer into, std::function<void(Code, std::size_t)> done);

 private:
  using Pieces = std::array<boost::asio::const_buffer, 8>;  // a header, a chunk's frame, a body
  using Done = std::function<void(Code, std::size_t)>;
  struct Tls;

  // Beast's handlers can only be moved, functions want to be copied.
  template <typename Handler>
  static Done shared(Handler&& handler) {
    auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    return [kept](Code failed, std::size_t bytes) { (*kept)(failed, bytes); };
  }
  void read_some(boost::asio::mutable_buffer into, Done done);
  void write_some(const Pieces& pieces, Done done);

  std::unique_ptr<Plain> plain_;  // in a place of its own, which TLS refers to
  std::unique_ptr<Tls> tls_;
};

}  // namespace weft::live

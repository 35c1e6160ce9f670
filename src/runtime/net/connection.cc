#include "runtime/net/connection.h"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/stopwatch.h"

namespace weft::runtime {
namespace {

// What is read or written of one connection before the others have their turn.
constexpr std::size_t kTurnBytes = 2 << 20;
constexpr Seconds kLinger = 2;  // of a finished connection through which nothing flows
constexpr std::size_t kLeastLowWater = 16 << 10, kMostLowWater = 128 << 10;

End end_of(int code) {
  switch (code) {
    case ECONNREFUSED:
      return End::kRefused;
    case ECONNRESET:
    case EPIPE:
    case ECONNABORTED:
      return End::kReset;
    default:
      return End::kTimedOut;  // ETIMEDOUT, EHOSTUNREACH, ENETDOWN and their like
  }
}

// Pieces that live as long as needed.
std::vector<Piece> owned(std::span<const Piece> pieces) {
  std::vector<Piece> result;
  for (const Piece& piece : pieces) {
    if (piece.keep) {
      result.push_back(piece);
      continue;
    }
    const auto copy =
        std::make_shared<const std::vector<std::byte>>(piece.bytes.begin(), piece.bytes.end());
    result.push_back({*copy, copy});
  }
  return result;
}

std::size_t total_bytes(std::span<const Piece> pieces) {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes.size();
  return bytes;
}

}  // namespace

std::string_view name_of(End end) {
  switch (end) {
    case End::kClosedByPeer:
      return "closed by the other side";
    case End::kReset:
      return "reset";
    case End::kTimedOut:
      return "timed out";
    case End::kRefused:
      return "refused";
    case End::kBadProof:
      return "bad proof";
    case End::kBadFrame:
      return "bad frame";
  }
  return "an unknown end";
}

Connection::Connection(Reactor& reactor, const Settings& settings, Events events)
    : reactor_(reactor),
      settings_(settings),
      events_(std::make_shared<Events>(std::move(events))),
      reader_(settings.most_frame_bytes, *this) {}

Connection::~Connection() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::shared_ptr<Connection> Connection::accept(Reactor& reactor, int descriptor,
                                               const Settings& settings, Events events) {
  CHECK(reactor.inside());
  std::shared_ptr<Connection> connection(new Connection(reactor, settings, std::move(events)));
  connection->descriptor_ = descriptor;
  // Not from within this call: its caller does not hold the connection yet.
  reactor.post([connection] {
    if (connection->state_ == State::kIdle) connection->shake();
  });
  return connection;
}

void Connection::send(std::uint16_t kind, std::span<const Piece> pieces) {
  if (!reactor_.inside()) {
    reactor_.post(
        [self = shared_from_this(), kind, kept = owned(pieces)] { self->send(kind, kept); });
    return;
  }
  queue(kind, pieces);
  flush();
}

void Connection::send(std::uint16_t kind, std::string_view body) {
  const Piece piece{view_of(body)};
  send(kind, {&piece, 1});
}

void Connection::queue(std::uint16_t kind, std::span<const Piece> pieces) {
  CHECK(reactor_.inside() && total_bytes(pieces) <= kMostFrameBytes);
  if (state_ == State::kClosed || finishing_) return;
  if (state_ == State::kOpen) {
    push_frame(kind, pieces);
  } else {
    early_.push_back({kind, owned(pieces)});
    early_bytes_ += total_bytes(pieces);
    queued_bytes_ += total_bytes(pieces);
  }
}

void Connection::push_frame(std::uint16_t kind, std::span<const Piece> pieces) {
  const std::size_t plain = total_bytes(pieces);
  const std::size_t length = plain + (seal_ ? kSealBytes : 0);
  queued_bytes_ += kFrameHeaderBytes + length;
  const FrameHeader header{.kind = kind, .length = static_cast<std::uint32_t>(length)};
  std::array<std::byte, kFrameHeaderBytes> header_bytes{};
  encode(header, header_bytes);
  if (!seal_) {
    queue_.push({header_bytes});
    for (const Piece& piece : pieces) queue_.push(piece);
    return;
  }
  auto sealed = std::make_unique_for_overwrite<std::byte[]>(kFrameHeaderBytes + length);
  std::memcpy(sealed.get(), header_bytes.data(), kFrameHeaderBytes);
  std::vector<ByteView> views;
  std::shared_ptr<const void> keep;  // held on, because owners count what is not written yet
  for (const Piece& piece : pieces) {
    views.push_back(piece.bytes);
    if (piece.keep) keep = piece.keep;
  }
  seal_->seal(header_bytes, views, sealed.get() + kFrameHeaderBytes);
  queue_.push(std::move(sealed), kFrameHeaderBytes + length, std::move(keep));
}

void Connection::flush() {
  if (descriptor_ < 0 || state_ == State::kConnecting || state_ == State::kClosed) return;
  std::size_t turn = 0;
  std::array<iovec, 64> parts;
  while (!queue_.empty() && turn < kTurnBytes) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = queue_.fill(parts);
    const ssize_t sent = sendmsg(descriptor_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      const int code = errno;
      // What the other side said before it went is still to be read, and says more than our error.
      // While that is being read, the flush() behind it will see the error again.
      if (reading_) return;
      if (state_ == State::kOpen) read_frames();
      if (state_ == State::kShaking) return lost_in_handshake(end_of(code), std::strerror(code));
      return fail(end_of(code), fmt::format("cannot write: {}", std::strerror(code)));
    }
    queue_.consume(static_cast<std::size_t>(sent));
    queued_bytes_ -= static_cast<std::size_t>(sent);
    turn += static_cast<std::size_t>(sent);
  }
  if (finishing_ && turn > 0) linger_anew();
  if (finishing_ && queue_.empty()) shutdown(descriptor_, SHUT_WR);
  watch();
}

void Connection::read_frames() {
  reading_ = true;
  read_turn();
  reading_ = false;
  if (state_ == State::kOpen) set_low_water();
}

// On a slow link the kernel would wake us for every packet of a long body: 6 CPU seconds for a GB.
// It wakes us all the same for the end of the connection, and when it runs short of memory.
void Connection::set_low_water() {
  const std::size_t missing = reader_.missing();
  const int wanted =
      missing < kLeastLowWater ? 1 : static_cast<int>(std::min(missing, kMostLowWater));
  if (wanted == low_water_) return;
  low_water_ = wanted;
  setsockopt(descriptor_, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof wanted);
}

void Connection::read_turn() {
  for (std::size_t turn = 0; turn < kTurnBytes && state_ == State::kOpen && !paused_;) {
    const std::span<iovec> room = reader_.room();
    const ssize_t got = readv(descriptor_, room.data(), static_cast<int>(room.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) return fail(end_of(errno), std::strerror(errno));
    if (got == 0) {
      return fail(End::kClosedByPeer, reader_.inside_frame()
                                          ? "the other side ended in the middle of a frame"
                                          : "the other side closed the connection");
    }
    std::size_t asked = 0;
    for (const iovec& part : room) asked += part.iov_len;
    const auto bytes = static_cast<std::size_t>(got);
    if (!reader_.received(bytes)) {
      if (state_ == State::kOpen) fail(End::kBadFrame, reader_.fault());
      return;
    }
    if (bytes < asked) return;  // the kernel has no more; the next event says when it has
    turn += bytes;
  }
}

std::byte* Connection::body_room(std::uint16_t kind, std::size_t bytes) {
  const auto events = events_;
  return events && events->on_body && !finishing_ ? events->on_body(kind, bytes) : nullptr;
}

bool Connection::frame(std::uint16_t kind, std::span<std::byte> body) {
  const auto events = events_;
  if (events && events->on_frame && !finishing_) events->on_frame(kind, body);
  return state_ == State::kOpen;
}

void Connection::handle(std::uint32_t events) {
  const bool input = (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  if (state_ == State::kConnecting) {
    int code = 0;
    socklen_t size = sizeof code;
    getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) return attempt_failed(end_of(code), std::strerror(code));
    if (connected_to_itself()) return attempt_failed(End::kRefused, "nothing listens there");
    return shake();
  }
  if (state_ == State::kShaking && input) {
    read_handshake();
  } else if (state_ == State::kOpen && input) {
    paused_ = false;  // only the end of the other side comes through to a paused connection
    read_frames();
  }
  if (state_ == State::kOpen || (state_ == State::kShaking && (events & EPOLLOUT) != 0)) flush();
}

void Connection::watch() {
  if (descriptor_ < 0 || state_ == State::kClosed) return;
  const bool writes = state_ == State::kConnecting || !queue_.empty();
  const std::uint32_t wanted = (paused_ ? 0U : static_cast<std::uint32_t>(EPOLLIN)) |
                               static_cast<std::uint32_t>(EPOLLRDHUP) |
                               (writes ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  if (registered_) {
    if (wanted != watched_) reactor_.modify(descriptor_, wanted);
    watched_ = wanted;
    return;
  }
  const Status added = reactor_.add(
      descriptor_, wanted, [self = shared_from_this()](auto events) { self->handle(events); });
  registered_ = added.ok();
  watched_ = wanted;
  if (!added.ok()) fail(End::kTimedOut, added.error().what);
}

void Connection::drop_descriptor() {
  if (registered_) reactor_.remove(descriptor_);
  if (descriptor_ >= 0) ::close(descriptor_);
  registered_ = false;
  descriptor_ = -1;
}

void Connection::pause_reading(bool paused) {
  if (paused_ == paused) return;
  paused_ = paused;
  watch();
}

void Connection::close_now() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();  // the timer and the descriptor may be the last to hold us
  state_ = State::kClosed;
  reactor_.cancel(timer_);
  drop_descriptor();
  queue_.clear();
  early_.clear();
  queued_bytes_ = 0;
  events_.reset();
}

void Connection::close() {
  if (reactor_.inside()) return close_now();
  reactor_.post([self = shared_from_this()] { self->close_now(); });
}

void Connection::finish() {
  if (!reactor_.inside()) return reactor_.post([self = shared_from_this()] { self->finish(); });
  if (state_ == State::kClosed) return;
  finishing_ = true;
  events_.reset();
  if (state_ == State::kOpen) linger();
}

void Connection::linger() {
  linger_anew();
  flush();
}

// Closed with unread bytes, the kernel would reset the connection and lose what is on its way, so
// the other side closes first.
void Connection::linger_anew() { set_timer(kLinger, &Connection::close_now); }

void Connection::fail(End end, const std::string& reason) {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();  // `reason` may be ours
  const auto events = events_;
  close_now();
  if (events && events->on_close) events->on_close(end, reason);
}

void Connection::set_timer(Seconds delay, void (Connection::*then)()) {
  reactor_.cancel(timer_);
  timer_ = reactor_.after(delay, [self = shared_from_this(), then] { (*self.*then)(); });
}

}  // namespace weft::runtime

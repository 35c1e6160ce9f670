// How a connection begins: attempts to connect, and the handshake of both sides.
#include <fmt/core.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/stopwatch.h"
#include "runtime/net/connection.h"

namespace weft::runtime {
namespace {

constexpr Seconds kMostBackoff = 0.25;

}  // namespace

std::shared_ptr<Connection> Connection::connect(Reactor& reactor, const SocketAddress& address,
                                                const Settings& settings, Purpose purpose,
                                                Seconds deadline_s, Events events) {
  std::shared_ptr<Connection> connection(new Connection(reactor, settings, std::move(events)));
  connection->connects_ = true;
  connection->address_ = address;
  connection->purpose_ = purpose;
  connection->deadline_ns_ =
      monotonic_ns() + static_cast<std::int64_t>(std::clamp(deadline_s, 0.0, 1e9) * 1e9);
  reactor.post([connection] {
    if (connection->state_ == State::kIdle) connection->attempt();
  });
  return connection;
}

Seconds Connection::left_s() const {
  return std::max(0.0, 1e-9 * static_cast<double>(deadline_ns_ - monotonic_ns()));
}

void Connection::attempt() {
  descriptor_ = socket(address_.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor_ < 0) return attempt_failed(End::kTimedOut, std::strerror(errno));
  // Buffer sizes count only when they are set before the connection is made.
  refused_ = apply_options(descriptor_, settings_.options);
  state_ = State::kConnecting;
  const int code =
      ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address_.storage), address_.size);
  if (code != 0 && errno != EINPROGRESS) {
    const int error = errno;
    return attempt_failed(error == ECONNREFUSED ? End::kRefused : End::kTimedOut,
                          std::strerror(error));
  }
  set_timer(left_s(), &Connection::timed_out);
  watch();
}

// Whoever connects to a free port of its own host may be given that port, and then meets itself.
bool Connection::connected_to_itself() const {
  SocketAddress here, there;
  here.size = there.size = sizeof here.storage;
  return getsockname(descriptor_, reinterpret_cast<sockaddr*>(&here.storage), &here.size) == 0 &&
         getpeername(descriptor_, reinterpret_cast<sockaddr*>(&there.storage), &there.size) == 0 &&
         text_of(here) == text_of(there);
}

void Connection::attempt_failed(End end, const std::string& reason) {
  drop_descriptor();
  queue_.clear();
  queued_bytes_ = early_bytes_;
  state_ = State::kIdle;
  if (left_s() <= backoff_s_) {
    return fail(end, fmt::format("cannot connect to {}: {}", text_of(address_), reason));
  }
  set_timer(backoff_s_, &Connection::attempt);
  backoff_s_ = std::min(2 * backoff_s_, kMostBackoff);
}

void Connection::timed_out() {
  lost_in_handshake(End::kTimedOut,
                    state_ == State::kShaking ? "no answer in the handshake" : "no answer");
}

// Both sides are connected; now they prove themselves.
void Connection::shake() {
  const auto nonce = fresh_nonce();
  if (!nonce.ok()) return fail(End::kTimedOut, nonce.error().what);
  const bool encrypt = settings_.options.encrypt;
  if (connects_) {
    handshake_ = Handshake::connector(settings_.identity, purpose_, encrypt, *nonce);
  } else {
    handshake_ = Handshake::listener(settings_.identity, encrypt, *nonce);
    refused_ = apply_options(descriptor_, settings_.options);
  }
  state_ = State::kShaking;
  shaking_bytes_ = 0;
  set_timer(connects_ ? std::min(left_s(), settings_.handshake_s) : settings_.handshake_s,
            &Connection::timed_out);
  push_plain(handshake_->start());
  flush();
}

void Connection::push_plain(const std::string& bytes) {
  queue_.push({view_of(bytes)});
  queued_bytes_ += bytes.size();
}

void Connection::lost_in_handshake(End end, const std::string& reason) {
  if (!connects_) return fail(end, reason);
  const bool hung_up = end == End::kClosedByPeer || end == End::kReset;
  if (state_ == State::kShaking && hung_up && handshake_->proved()) {
    return fail(End::kBadProof,
                fmt::format("{} refused our proof: it has another secret", text_of(address_)));
  }
  attempt_failed(end, state_ == State::kShaking && hung_up
                          ? "it hung up in the handshake; it may be of another job or version"
                          : reason);
}

void Connection::read_handshake() {
  const ssize_t got =
      recv(descriptor_, shaking_.data() + shaking_bytes_, shaking_.size() - shaking_bytes_, 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (got <= 0) {
    const bool reset = got < 0 && errno == ECONNRESET;
    return lost_in_handshake(got == 0 ? End::kClosedByPeer
                             : reset  ? End::kReset
                                      : End::kTimedOut,
                             got == 0 ? "the other side hung up" : std::strerror(errno));
  }
  shaking_bytes_ += static_cast<std::size_t>(got);
  ByteView in(shaking_.data(), shaking_bytes_);
  std::string out;
  switch (handshake_->feed(in, out)) {
    case Handshake::State::kGoing:
      std::memmove(shaking_.data(), in.data(), in.size());
      shaking_bytes_ = in.size();
      push_plain(out);
      return flush();
    case Handshake::State::kStranger:
      return fail(End::kBadFrame, connects_ ? text_of(address_) + " speaks another protocol"
                                            : "a stranger, or of another job");
    case Handshake::State::kBadProof:
      return fail(End::kBadProof, "the other side does not know the secret of the job");
    case Handshake::State::kDone:
      // Written before anyone may close the connection, or it would look like a refusal.
      push_plain(out);
      flush();
      if (state_ == State::kShaking) opened(in);
      return;
  }
}

void Connection::opened(ByteView rest) {
  state_ = State::kOpen;
  reactor_.cancel(timer_);
  if (handshake_->encrypted()) {
    seal_ = handshake_->sender();
    reader_.use(handshake_->receiver());
  }
  queued_bytes_ -= std::exchange(early_bytes_, 0);
  for (const Early& early : std::exchange(early_, {})) push_frame(early.kind, early.pieces);
  if (const auto events = events_; events && events->on_open) events->on_open();
  if (state_ == State::kOpen && !reader_.feed(rest) && state_ == State::kOpen) {
    return fail(End::kBadFrame, reader_.fault());
  }
  if (state_ != State::kOpen) return;
  return finishing_ ? linger() : flush();
}

}  // namespace weft::runtime

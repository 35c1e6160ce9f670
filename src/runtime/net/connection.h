// A framed connection between two that have proved to each other that they know the job's secret.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/units.h"
#include "runtime/net/frame_reader.h"
#include "runtime/net/handshake.h"
#include "runtime/net/reactor.h"
#include "runtime/net/send_queue.h"
#include "runtime/net/socket.h"

namespace weft::runtime {

// How a connection ended, or why there was none.
enum class End : std::uint8_t {
  kClosedByPeer,  // the other side closed it or its process ended; its host lives
  kReset,         // the other side's host says that there is no such connection (any more)
  kTimedOut,      // no answer: the other side, its host or the way to it may be gone
  kRefused,       // its host answered, but nothing listens
  kBadProof,      // one of the two does not know the secret
  kBadFrame,      // what came is not of this protocol, too large or tampered with
};
std::string_view name_of(End end);

// Shared by its user and by the reactor, which holds it until it is closed. Unless said otherwise
// everything runs on the reactor's thread, also the events, in which close() may be called.
class Connection : public std::enable_shared_from_this<Connection>, private FrameSink {
 public:
  struct Events {
    // Both sides have proved themselves.
    std::function<void()> on_open = nullptr;
    // Memory for a body, with kSealBytes behind it, that lives until on_frame; nullptr or no
    // function: the connection's own.
    std::function<std::byte*(std::uint16_t kind, std::size_t bytes)> on_body = nullptr;
    // The body is valid during the call.
    std::function<void(std::uint16_t kind, ByteView body)> on_frame = nullptr;
    // Called once, last, and not after close().
    std::function<void(End end, const std::string& reason)> on_close = nullptr;
  };
  struct Settings {
    Identity identity;
    SocketOptions options = {};
    std::size_t most_frame_bytes = 1 << 20;  // of a body
    Seconds handshake_s = 2;                 // in which the other side must have proved itself
  };

  // From any thread. Tries again until the deadline while nobody answers; a proof that fails ends
  // it at once.
  static std::shared_ptr<Connection> connect(Reactor& reactor, const SocketAddress& address,
                                             const Settings& settings, Purpose purpose,
                                             Seconds deadline_s, Events events);
  // Takes over an accepted socket. Requires: on the reactor's thread.
  static std::shared_ptr<Connection> accept(Reactor& reactor, int descriptor,
                                            const Settings& settings, Events events);
  ~Connection() override;

  void set_events(Events events) { events_ = std::make_shared<Events>(std::move(events)); }

  // From any thread: queues a frame. What is sent before the connection is open waits for it; what
  // is sent after its end goes nowhere. Requires: the pieces have at most kMostFrameBytes.
  void send(std::uint16_t kind, std::span<const Piece> pieces);
  void send(std::uint16_t kind, std::string_view body);
  // Like send(), but what was queued is written at the next flush() only. On the reactor's thread.
  void queue(std::uint16_t kind, std::span<const Piece> pieces);
  void flush();
  // From any thread: bytes of frames that were queued and not yet given to the kernel.
  std::size_t queued_bytes() const { return queued_bytes_.load(std::memory_order_relaxed); }

  // From any thread. No event is called afterwards; what is queued is lost.
  void close();
  // From any thread: closes when everything queued was given to the kernel, or when the other side
  // took nothing of it for two seconds.
  void finish();
  // Ends the connection with an event, for a user who does not like a frame.
  void fail(End end, const std::string& reason);
  // Stops or goes on taking bytes from the kernel. The end of the peer is noticed all the same.
  void pause_reading(bool paused);

  bool open() const { return state_ == State::kOpen; }
  bool closed() const { return state_ == State::kClosed; }
  // Requires: open() was true once.
  const std::string& peer_label() const { return handshake_->peer_label(); }
  Purpose purpose() const { return handshake_->purpose(); }
  bool encrypted() const { return handshake_->encrypted(); }
  // What the kernel refused of the options, for the user to read; often empty.
  const std::string& refused() const { return refused_; }

 private:
  enum class State { kIdle, kConnecting, kShaking, kOpen, kClosed };
  struct Early {
    std::uint16_t kind;
    std::vector<Piece> pieces;
  };

  Connection(Reactor& reactor, const Settings& settings, Events events);
  void attempt();
  void attempt_failed(End end, const std::string& reason);
  void shake();
  void read_handshake();
  void lost_in_handshake(End end, const std::string& reason);
  void opened(ByteView rest);
  void read_frames();
  void read_turn();
  void set_low_water();
  void linger();
  void linger_anew();
  bool connected_to_itself() const;
  void push_frame(std::uint16_t kind, std::span<const Piece> pieces);
  void push_plain(const std::string& bytes);
  Seconds left_s() const;
  void handle(std::uint32_t events);
  void watch();
  void drop_descriptor();
  void close_now();
  void set_timer(Seconds delay, void (Connection::*then)());
  void timed_out();

  std::byte* body_room(std::uint16_t kind, std::size_t bytes) override;
  bool frame(std::uint16_t kind, std::span<std::byte> body) override;

  Reactor& reactor_;
  Settings settings_;
  std::shared_ptr<Events> events_;  // shared with the call under way, which may replace it
  State state_ = State::kIdle;
  int descriptor_ = -1;
  std::uint32_t watched_ = 0;
  int low_water_ = 1;
  bool registered_ = false, paused_ = false, finishing_ = false, reading_ = false;

  // Of the side that connects.
  bool connects_ = false;
  SocketAddress address_;
  Purpose purpose_ = Purpose::kControl;
  std::int64_t deadline_ns_ = 0;
  Seconds backoff_s_ = 0.005;
  Reactor::Timer timer_ = 0;

  std::optional<Handshake> handshake_;
  std::array<std::byte, kMostHelloBytes + sizeof(Proof)> shaking_ = {};
  std::size_t shaking_bytes_ = 0;

  FrameReader reader_;
  SendQueue queue_;
  std::unique_ptr<Seal> seal_;
  std::vector<Early> early_;  // sent before it was open
  std::size_t early_bytes_ = 0;
  std::atomic<std::size_t> queued_bytes_ = 0;
  std::string refused_;
};

}  // namespace weft::runtime

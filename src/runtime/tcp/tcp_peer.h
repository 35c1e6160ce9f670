// What the TCP transport knows of one member. Only its own sources include this.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/tcp/tcp_transport.h"

namespace weft::runtime {

inline constexpr std::size_t kKeptBytes = 64 << 20;       // of free memory in the pool
inline constexpr std::size_t kMostInboxBytes = 64 << 20;  // that nobody polled, then reading pauses
inline constexpr int kMostStreams = 16;                   // that one side makes to a member
inline constexpr std::uint16_t kMessageFrame = 1, kGoodbyeFrame = 2;

// One connection with a member, made by either side.
struct TcpTransport::Stream {
  Stream(TcpTransport& t, Peer& p) : transport(t), peer(p) {}
  ~Stream() {
    if (arriving != nullptr) transport.pool_.drop(arriving);
    if (opened) --transport.connections_;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  TcpTransport& transport;
  Peer& peer;
  std::shared_ptr<Connection> connection;  // shared with the reactor
  bool opened = false;
  Block* arriving = nullptr;  // of a message whose bytes are not all here
};

// A message on its way to one member. The last to let go of it gives room and memory back.
struct TcpTransport::Sending {
  Sending(TcpTransport& t, Peer& p, Block* b) : transport(t), peer(p), block(b) {}
  ~Sending() { transport.sent(peer, block); }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

  TcpTransport& transport;
  Peer& peer;
  Block* block;
};

struct TcpTransport::Peer {
  explicit Peer(MemberId member) : id(member) {}

  // Whether `size` bytes more may wait; if not, the next that is written rings the doorbell. One
  // message always fits, whatever the limit.
  bool has_room(std::size_t size, std::size_t credit) {
    const auto fits = [&] {
      const std::size_t bytes = queued.load();
      return bytes == 0 || bytes + size <= credit;
    };
    if (fits()) return true;
    wanted = true;
    return fits();  // it may have been written between the two lines above
  }

  const MemberId id;
  std::atomic<bool> asked = false;      // to connect
  std::atomic<bool> gone = false;       // lost or forgotten
  std::atomic<std::size_t> queued = 0;  // bytes reserved and not yet written
  std::atomic<bool> wanted = false;     // somebody waits for room

  // On the reactor's thread.
  bool parting = false;  // it said goodbye, so its end is no loss
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::shared_ptr<Sending>> waiting;  // for the first stream to open
};

}  // namespace weft::runtime

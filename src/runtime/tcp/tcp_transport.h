// Messages over TCP, between hosts. Each pair of members that talks has a few connections, made
// when the first message is to be sent; whoever connected, both send on all of them.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/doorbell.h"
#include "runtime/net/listener.h"
#include "runtime/tcp/block_pool.h"
#include "runtime/wire_transport.h"

namespace weft::runtime {

class TcpTransport : public WireTransport {
 public:
  struct Settings : WireSettings {
    SocketOptions options = {};
    int streams = 2;        // connections that this side makes to a member
    Seconds connect_s = 5;  // for connecting to a member
    std::string listen_address = "0.0.0.0:0";
  };

  // Requires: the reactor and the doorbell outlive the transport.
  static Result<std::unique_ptr<TcpTransport>> open(Reactor& reactor, Doorbell doorbell,
                                                    Settings settings);
  // Requires: polled messages were released; not on the reactor's thread.
  ~TcpTransport() override;

  int port() const { return listener_->port(); }
  std::string address() const override;  // host:port
  // Connects now, so that the first message need not wait. Cost: a name is looked up as in
  // resolve().
  void prepare(MemberId member);

  std::size_t max_message() const override { return kMaxMessage; }
  bool reaches(MemberId member) const override;
  Room reserve(std::span<const MemberId> to, std::size_t bytes, bool spare_caches) override;
  void post(std::byte* room, std::span<const MemberId> to, const Header& header) override;
  bool poll(Message& message) override;
  void release(const Message& message) override;
  void forget(MemberId member) override;
  bool idle() override;  // the kernel has it
  void part() override;
  void welcome(MemberId member) override;
  TransportCounts counts() const override;

 private:
  struct Peer;
  struct Stream;
  struct Sending;
  struct Arrived {
    MemberId from = 0;
    Block* block = nullptr;
  };
  using Outgoing = std::pair<Peer*, std::shared_ptr<Sending>>;

  TcpTransport(Reactor& reactor, Doorbell doorbell, Settings settings);
  Connection::Settings connection_settings() const;
  Peer& peer_of(MemberId member);
  void sent(Peer& peer, Block* block);

  // On the reactor's thread.
  void connect_to(Peer& peer, const Result<SocketAddress>& address);
  void accepted(const std::shared_ptr<Connection>& connection);
  Stream& add_stream(Peer& peer);
  Connection::Events events_of(Stream& stream);
  void opened(Stream& stream);
  void arrived(Stream& stream, std::uint16_t kind, ByteView body);
  void stream_ended(Stream& stream, End end, const std::string& reason);
  void lose(Peer& peer, const std::string& reason, bool confirmed);
  void close_streams(Peer& peer);
  void write_out();
  void go_on();

  Reactor& reactor_;
  Doorbell doorbell_;
  Settings settings_;
  BlockPool pool_;
  std::unique_ptr<Listener> listener_;

  std::mutex peers_mutex_;
  std::map<MemberId, std::unique_ptr<Peer>> peers_;  // under peers_mutex_
  std::vector<std::unique_ptr<Peer>>
      retired_;  // under peers_mutex_; others may still refer to them

  std::mutex outbox_mutex_;
  std::vector<Outgoing> outbox_;  // under outbox_mutex_

  std::mutex inbox_mutex_;
  std::deque<Arrived> inbox_;  // under inbox_mutex_
  std::deque<Arrived> taken_;  // of the caller: what it took from inbox_ in one go
  std::atomic<std::size_t> inbox_bytes_ = 0;
  std::atomic<bool> paused_ = false;  // reading, because nobody polls

  std::atomic<std::uint64_t> messages_sent_ = 0, messages_received_ = 0, bytes_sent_ = 0,
                             bytes_received_ = 0, connections_ = 0;
};

}  // namespace weft::runtime

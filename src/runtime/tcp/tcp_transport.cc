#include "runtime/tcp/tcp_transport.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/tcp/tcp_peer.h"

namespace weft::runtime {

TcpTransport::TcpTransport(Reactor& reactor, Doorbell doorbell, Settings settings)
    : reactor_(reactor),
      doorbell_(doorbell),
      settings_(std::move(settings)),
      pool_(kMaxMessage, sizeof(Header) + kSealBytes, kKeptBytes) {}

Result<std::unique_ptr<TcpTransport>> TcpTransport::open(Reactor& reactor, Doorbell doorbell,
                                                         Settings settings) {
  CHECK(settings.address_of && settings.streams >= 1 && settings.streams <= kMostStreams);
  std::unique_ptr<TcpTransport> transport(new TcpTransport(reactor, doorbell, std::move(settings)));
  auto listener =
      Listener::open(reactor, transport->settings_.listen_address, transport->connection_settings(),
                     [t = transport.get()](const auto& c) { t->accepted(c); });
  if (!listener.ok()) return listener.error();
  transport->listener_ = std::move(listener).value();
  return transport;
}

TcpTransport::~TcpTransport() {
  listener_.reset();
  // Runs behind all that was posted, so that nothing of this object is left with the reactor.
  reactor_.call([this] {
    const std::lock_guard lock(peers_mutex_);
    for (const auto& [id, peer] : peers_) close_streams(*peer);
    outbox_.clear();
  });
  for (const auto* queue : {&inbox_, &taken_}) {
    for (const Arrived& one : *queue) pool_.drop(one.block);
  }
}

Connection::Settings TcpTransport::connection_settings() const {
  Connection::Settings settings;
  settings.identity = {
      .secret = settings_.secret, .job = settings_.job, .label = fmt::format("{}", settings_.self)};
  settings.options = settings_.options;
  settings.most_frame_bytes = sizeof(Header) + kMaxMessage;
  return settings;
}

std::string TcpTransport::address() const {
  const std::string& own = settings_.listen_address;
  return fmt::format("{}:{}", own.substr(0, own.rfind(':')), port());
}

TcpTransport::Peer& TcpTransport::peer_of(MemberId member) {
  const std::lock_guard lock(peers_mutex_);
  auto& peer = peers_[member];
  if (!peer) peer = std::make_unique<Peer>(member);
  return *peer;
}

bool TcpTransport::reaches(MemberId member) const {
  return member != settings_.self && settings_.address_of(member).has_value();
}

void TcpTransport::prepare(MemberId member) {
  Peer& peer = peer_of(member);
  if (peer.asked.exchange(true)) return;
  const auto text = settings_.address_of(member);
  const Result<SocketAddress> address =
      text ? resolve(*text)
           : Error{ErrorKind::kNotFound, fmt::format("member {} has no address", member), ""};
  reactor_.post([this, &peer, address] { connect_to(peer, address); });
}

Room TcpTransport::reserve(std::span<const MemberId> to, std::size_t bytes, bool) {
  CHECK(bytes <= kMaxMessage && !to.empty());
  const std::size_t size = sizeof(Header) + bytes;
  for (const MemberId member : to) {
    Peer& peer = peer_of(member);
    if (!peer.has_room(size, settings_.credit_bytes)) return {};
  }
  for (const MemberId member : to) {
    prepare(member);
    peer_of(member).queued += size;
  }
  return {pool_.take(size)->data() + sizeof(Header)};
}

void TcpTransport::post(std::byte* room, std::span<const MemberId> to, const Header& header) {
  Block* block = Block::of(room - sizeof(Header));
  CHECK(block->bytes == sizeof(Header) + header.bytes);
  std::memcpy(block->data(), &header, sizeof header);
  block->holds.fetch_add(static_cast<std::uint32_t>(to.size()), std::memory_order_relaxed);
  bool first = false;
  {
    const std::lock_guard lock(outbox_mutex_);
    first = outbox_.empty();
    for (const MemberId member : to) {
      Peer& peer = peer_of(member);
      outbox_.emplace_back(&peer, std::make_shared<Sending>(*this, peer, block));
      if (peer.gone) continue;
      ++messages_sent_;
      bytes_sent_ += header.bytes;
    }
  }
  pool_.drop(block);
  if (first) reactor_.post([this] { write_out(); });
}

// The bytes of a message were written, or will never be.
void TcpTransport::sent(Peer& peer, Block* block) {
  peer.queued -= block->bytes;
  pool_.drop(block);
  if (peer.wanted.exchange(false)) doorbell_.ring();
}

bool TcpTransport::poll(Message& message) {
  if (taken_.empty()) {
    if (inbox_bytes_.load(std::memory_order_acquire) == 0) return false;
    const std::lock_guard lock(inbox_mutex_);
    taken_.swap(inbox_);
  }
  if (taken_.empty()) return false;
  const Arrived arrived = taken_.front();
  taken_.pop_front();
  inbox_bytes_ -= arrived.block->bytes;
  if (paused_ && inbox_bytes_ < kMostInboxBytes / 2) reactor_.post([this] { go_on(); });
  message.from = arrived.from;
  std::memcpy(&message.header, arrived.block->data(), sizeof(Header));
  message.payload = arrived.block->data() + sizeof(Header);
  message.token = reinterpret_cast<std::uintptr_t>(arrived.block);
  return true;
}

void TcpTransport::release(const Message& message) {
  pool_.drop(reinterpret_cast<Block*>(static_cast<std::uintptr_t>(message.token)));
}

bool TcpTransport::idle() {
  const std::lock_guard lock(peers_mutex_);
  return std::all_of(peers_.begin(), peers_.end(), [](const auto& entry) {
    return entry.second->gone || entry.second->queued == 0;
  });
}

void TcpTransport::welcome(MemberId member) {
  const std::lock_guard lock(peers_mutex_);
  const auto found = peers_.find(member);
  if (found == peers_.end() || !found->second->gone) return;
  retired_.push_back(std::move(found->second));
  peers_.erase(found);
}

void TcpTransport::forget(MemberId member) {
  Peer& peer = peer_of(member);
  peer.asked = true;  // never to connect again
  peer.gone = true;
  reactor_.post([this, &peer] { close_streams(peer); });
  const auto drop_from = [&](std::deque<Arrived>& queue) {
    std::erase_if(queue, [&](const Arrived& one) {
      if (one.from != member) return false;
      inbox_bytes_ -= one.block->bytes;
      pool_.drop(one.block);
      return true;
    });
  };
  drop_from(taken_);
  const std::lock_guard lock(inbox_mutex_);
  drop_from(inbox_);
}

TransportCounts TcpTransport::counts() const {
  TransportCounts counts;
  counts.messages_sent = messages_sent_;
  counts.messages_received = messages_received_;
  counts.bytes_sent = bytes_sent_;
  counts.bytes_received = bytes_received_;
  counts.connections = connections_;
  return counts;
}

}  // namespace weft::runtime

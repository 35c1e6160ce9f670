// The part of the TCP transport that runs on the reactor's thread.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "runtime/tcp/tcp_peer.h"

namespace weft::runtime {
namespace {

std::optional<MemberId> member_of_label(const std::string& label) {
  MemberId member = 0;
  const char* end = label.data() + label.size();
  const auto [stop, code] = std::from_chars(label.data(), end, member);
  if (code != std::errc{} || stop != end) return std::nullopt;
  return member;
}

}  // namespace

TcpTransport::Stream& TcpTransport::add_stream(Peer& peer) {
  return *peer.streams.emplace_back(std::make_unique<Stream>(*this, peer));
}

void TcpTransport::connect_to(Peer& peer, const Result<SocketAddress>& address) {
  if (peer.gone || !peer.streams.empty()) return;  // it was quicker, and its streams serve us too
  if (!address.ok()) return lose(peer, address.error().what, false);
  for (int i = 0; i < settings_.streams; ++i) {
    Stream& stream = add_stream(peer);
    stream.connection = Connection::connect(reactor_, *address, connection_settings(),
                                            Purpose::kData, settings_.connect_s, events_of(stream));
  }
}

void TcpTransport::accepted(const std::shared_ptr<Connection>& connection) {
  const auto member = member_of_label(connection->peer_label());
  // Whoever proved itself may have learned of the membership before us.
  const bool known = connection->purpose() == Purpose::kData && member && *member != settings_.self;
  if (!known) return connection->close();
  Peer& peer = peer_of(*member);
  // Room for as many as both sides may make at once.
  if (peer.gone || peer.streams.size() >= 2 * std::size_t{kMostStreams}) return connection->close();
  peer.asked = true;
  Stream& stream = add_stream(peer);
  stream.connection = connection;
  connection->set_events(events_of(stream));
  opened(stream);
}

Connection::Events TcpTransport::events_of(Stream& stream) {
  Connection::Events events;
  events.on_open = [this, &stream] { opened(stream); };
  events.on_body = [this, &stream](std::uint16_t kind, std::size_t bytes) -> std::byte* {
    if (kind != kMessageFrame || bytes < sizeof(Header)) return nullptr;
    CHECK(stream.arriving == nullptr);
    stream.arriving = pool_.take(bytes);
    return stream.arriving->data();
  };
  events.on_frame = [this, &stream](std::uint16_t kind, ByteView body) {
    arrived(stream, kind, body);
  };
  events.on_close = [this, &stream](End end, const std::string& reason) {
    stream_ended(stream, end, reason);
  };
  return events;
}

void TcpTransport::opened(Stream& stream) {
  Peer& peer = stream.peer;
  if (member_of_label(stream.connection->peer_label()) != peer.id) {
    return stream.connection->fail(
        End::kBadFrame, fmt::format("at the address of member {} is member '{}'", peer.id,
                                    stream.connection->peer_label()));
  }
  stream.opened = true;
  ++connections_;
  for (const auto& sending : std::exchange(peer.waiting, {})) {
    const Piece piece{{sending->block->data(), sending->block->bytes}, sending};
    stream.connection->queue(kMessageFrame, {&piece, 1});
  }
  stream.connection->flush();
}

void TcpTransport::write_out() {
  std::vector<Outgoing> messages;
  {
    const std::lock_guard lock(outbox_mutex_);
    messages.swap(outbox_);
  }
  std::vector<std::shared_ptr<Connection>> touched;
  for (auto& [peer, sending] : messages) {
    if (peer->gone) {
      sending.reset();
      continue;
    }
    Connection* best = nullptr;
    for (const auto& stream : peer->streams) {
      Connection* candidate = stream->connection.get();
      if (!candidate->open()) continue;
      if (!best || candidate->queued_bytes() < best->queued_bytes()) best = candidate;
    }
    if (!best) {
      peer->waiting.push_back(std::move(sending));
      continue;
    }
    const Piece piece{{sending->block->data(), sending->block->bytes}, std::move(sending)};
    best->queue(kMessageFrame, {&piece, 1});
    const auto shared = best->shared_from_this();
    if (std::find(touched.begin(), touched.end(), shared) == touched.end()) {
      touched.push_back(shared);
    }
  }
  for (const auto& connection : touched) connection->flush();
}

void TcpTransport::arrived(Stream& stream, std::uint16_t kind, ByteView body) {
  Block* block = std::exchange(stream.arriving, nullptr);
  if (kind == kGoodbyeFrame && body.empty()) {
    stream.peer.parting = true;
    return;
  }
  if (kind != kMessageFrame || block == nullptr) {
    return stream.connection->fail(
        End::kBadFrame,
        fmt::format("a frame of kind {} and {} bytes is no message", kind, body.size()));
  }
  Header header;
  std::memcpy(&header, body.data(), sizeof header);
  if (header.bytes != body.size() - sizeof header) {
    pool_.drop(block);
    return stream.connection->fail(End::kBadFrame,
                                   fmt::format("a message of {} bytes says that it has {}",
                                               body.size() - sizeof header, header.bytes));
  }
  {
    const std::lock_guard lock(inbox_mutex_);
    // Looked at here, because forget() says so first and then takes the lock.
    if (stream.peer.gone) return pool_.drop(block);
    inbox_.push_back({stream.peer.id, block});
    inbox_bytes_ += block->bytes;
  }
  ++messages_received_;
  bytes_received_ += header.bytes;
  doorbell_.ring();
  if (inbox_bytes_ < kMostInboxBytes) return;
  stream.connection->pause_reading(true);
  paused_ = true;
  if (inbox_bytes_ < kMostInboxBytes / 2) go_on();  // polled between the lines above
}

// Reads again from all; whoever brings too much pauses again.
void TcpTransport::go_on() {
  if (!paused_.exchange(false)) return;
  const std::lock_guard lock(peers_mutex_);
  for (const auto& [id, peer] : peers_) {
    for (const auto& stream : peer->streams) {
      if (stream->connection->open()) stream->connection->pause_reading(false);
    }
  }
}

void TcpTransport::stream_ended(Stream& stream, End end, const std::string& reason) {
  Peer& peer = stream.peer;
  const bool others = std::any_of(peer.streams.begin(), peer.streams.end(),
                                  [](const auto& one) { return one->connection->open(); });
  // An attempt that failed matters only if there is no other way.
  if (!stream.opened && others) {
    std::erase_if(peer.streams, [&](const auto& one) { return one.get() == &stream; });
    return;
  }
  const bool confirmed = end == End::kClosedByPeer || end == End::kReset || end == End::kRefused;
  lose(peer, reason, confirmed);
}

void TcpTransport::lose(Peer& peer, const std::string& reason, bool confirmed) {
  if (peer.gone.exchange(true)) return;
  close_streams(peer);
  if (settings_.on_peer_lost && !peer.parting) settings_.on_peer_lost(peer.id, reason, confirmed);
  doorbell_.ring();
}

void TcpTransport::part() {
  reactor_.call([this] {
    // Copied first: a connection that ends when it is written to takes its stream away.
    std::vector<std::shared_ptr<Connection>> open;
    {
      const std::lock_guard lock(peers_mutex_);
      for (const auto& [id, peer] : peers_) {
        peer->parting = true;  // they may close before we do
        for (const auto& stream : peer->streams) {
          if (stream->connection->open()) open.push_back(stream->connection);
        }
      }
    }
    for (const auto& connection : open) connection->send(kGoodbyeFrame, "");
  });
}

void TcpTransport::close_streams(Peer& peer) {
  for (const auto& stream : peer.streams) stream->connection->close();
  peer.streams.clear();
  peer.waiting.clear();
}

}  // namespace weft::runtime

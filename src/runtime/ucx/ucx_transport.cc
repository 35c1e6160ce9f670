#include "runtime/ucx/ucx_transport.h"

#ifdef WEFT_UCX
#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "runtime/ucx/ucx_members.h"
#include "runtime/wait.h"

namespace weft::runtime {
namespace {

constexpr std::size_t kKeptUcxBytes = 64 << 20;  // of free memory in the pool

}  // namespace

bool ucx_built() { return true; }

Result<std::unique_ptr<WireTransport>> open_ucx(Reactor& reactor, Doorbell doorbell,
                                                WireSettings settings) {
  auto opened = UcxTransport::open(reactor, doorbell, std::move(settings));
  if (!opened.ok()) return opened.error();
  return std::unique_ptr<WireTransport>(std::move(*opened));
}

UcxTransport::UcxTransport(Reactor& reactor, Doorbell doorbell, WireSettings settings)
    : reactor_(reactor),
      doorbell_(doorbell),
      settings_(std::move(settings)),
      pool_(kMaxMessage, kEnvelopeRoom, kKeptUcxBytes),
      own_proof_(proof_of(settings_.self)) {}

Result<std::unique_ptr<UcxTransport>> UcxTransport::open(Reactor& reactor, Doorbell doorbell,
                                                         WireSettings settings) {
  CHECK(settings.address_of);
  std::unique_ptr<UcxTransport> transport(new UcxTransport(reactor, doorbell, std::move(settings)));
  auto worker = UcxWorker::open(
      [](void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
         const ucp_am_recv_param_t* how) {
        return static_cast<UcxTransport*>(self)->arrived(header, header_bytes, data, bytes, how);
      },
      transport.get());
  if (!worker.ok()) return worker.error();
  transport->worker_ = std::make_unique<UcxWorker>(std::move(*worker));
  Status watched;
  reactor.call([&, t = transport.get()] {
    watched = reactor.add(t->worker_->descriptor(), 0, [t](std::uint32_t) { t->on_event(); });
    if (watched.ok()) t->watch();
  });
  if (!watched.ok()) return watched.error();
  return transport;
}

UcxTransport::~UcxTransport() {
  if (worker_ == nullptr) return;
  // Runs behind all that was posted, so that nothing of this object is left with the reactor.
  reactor_.call([this] {
    reactor_.remove(worker_->descriptor());
    if (look_) reactor_.cancel(*look_);
  });
  const std::lock_guard lock(mutex_);
  for (const auto& [id, peer] : peers_) close_end(*peer);
  // UCX ends what it has of closed ends soon, also when nobody is there any more.
  wait_until(
      [&] {
        while (worker_->progress()) {
        }
        return closing_ == 0 && moving_.empty();
      },
      1, 1e-4);
  for (const Arrived& one : inbox_) drop(one);
  if (flush_ != nullptr) ucp_request_free(flush_);
  worker_.reset();
  for (const Moving& moving : moving_) pool_.drop(moving.block);
}

UcxTransport::Token UcxTransport::proof_of(MemberId member) const {
  std::array<std::uint8_t, sizeof(settings_.job) + sizeof(member)> who{};
  std::memcpy(who.data(), &settings_.job, sizeof(settings_.job));
  std::memcpy(who.data() + sizeof(settings_.job), &member, sizeof(member));
  const std::span<const std::uint8_t> part(who);
  const Proof whole = prove(settings_.secret, "ucx message", {&part, 1});
  Token token{};
  std::copy_n(whole.begin(), token.size(), token.begin());
  return token;
}

UcxTransport::Peer& UcxTransport::peer_of(MemberId member) {
  auto& peer = peers_[member];
  if (!peer) {
    peer = std::make_unique<Peer>(*this, member);
    peer->proof = proof_of(member);
  }
  return *peer;
}

bool UcxTransport::reaches(MemberId member) const {
  return member != settings_.self && settings_.address_of(member).has_value();
}

// Whether there is a way to the member, as far as is known.
bool UcxTransport::connect(Peer& peer) {
  if (peer.end != nullptr || peer.gone) return peer.end != nullptr;
  const auto address = settings_.address_of(peer.id);
  if (!address) return false;
  const auto end = worker_->connect(
      *address,
      [](void* which, ucp_ep_h, ucs_status_t status) {
        auto* lost = static_cast<Peer*>(which);
        lost->trouble = fmt::format("UCX says: {}", ucs_status_string(status));
        lost->transport.unsettled_ = true;
      },
      &peer);
  if (!end.ok()) {
    lose(peer, end.error().what);
    return false;
  }
  peer.end = *end;
  ++counts_.connections;
  return true;
}

void UcxTransport::close_end(Peer& peer) {
  if (peer.end == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  param.cb.send = [](void* request, ucs_status_t, void* self) {
    --static_cast<UcxTransport*>(self)->closing_;
    ucp_request_free(request);
  };
  param.user_data = this;
  const ucs_status_ptr_t request = ucp_ep_close_nbx(std::exchange(peer.end, nullptr), &param);
  if (UCS_PTR_IS_PTR(request)) ++closing_;
  --counts_.connections;
}

void UcxTransport::lose(Peer& peer, const std::string& reason) {
  if (peer.gone) return;
  peer.gone = true;
  close_end(peer);
  if (settings_.on_peer_lost && !peer.parting) {
    reactor_.post(
        [tell = settings_.on_peer_lost, id = peer.id, reason] { tell(id, reason, false); });
  }
  doorbell_.ring();
}

Room UcxTransport::reserve(std::span<const MemberId> to, std::size_t bytes, bool) {
  CHECK(bytes <= kMaxMessage && !to.empty());
  const std::size_t size = kEnvelopeRoom + bytes;
  const std::lock_guard lock(mutex_);
  for (const MemberId member : to) {
    Peer& peer = peer_of(member);
    if (peer.gone || peer.queued == 0 || peer.queued + size <= settings_.credit_bytes) continue;
    peer.wanted = true;
    return {};
  }
  for (const MemberId member : to) {
    Peer& peer = peer_of(member);
    if (!peer.gone && !connect(peer)) lose(peer, "it has no address");
    peer.queued += size;
  }
  return {pool_.take(size)->data() + kEnvelopeRoom};
}

void UcxTransport::post(std::byte* room, std::span<const MemberId> to, const Header& header) {
  Block* block = Block::of(room - kEnvelopeRoom);
  CHECK(block->bytes == kEnvelopeRoom + header.bytes);
  const Envelope envelope{header, settings_.self, 0, own_proof_};
  std::memcpy(block->data(), &envelope, sizeof envelope);
  block->holds.fetch_add(static_cast<std::uint32_t>(to.size()), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  for (const MemberId member : to) {
    Peer& peer = peer_of(member);
    if (!peer.gone && peer.end != nullptr) {
      ++counts_.messages_sent;
      counts_.bytes_sent += header.bytes;
    }
    send(peer, block, header);
  }
  pool_.drop(block);
}

// Requires: the block is held for it and its bytes count as queued.
void UcxTransport::send(Peer& peer, Block* block, const Header& header) {
  Moving& moving = start_moving(peer, block, header);
  if (peer.gone || peer.end == nullptr) return sent(moving);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = [](void* request, ucs_status_t, void* which) {
    auto& message = *static_cast<Moving*>(which);
    message.peer.transport.sent(message);
    ucp_request_free(request);
  };
  param.user_data = &moving;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(peer.end, kUcxMessage, block->data(), sizeof(Envelope),
                      block->data() + kEnvelopeRoom, header.bytes, &param);
  if (UCS_PTR_IS_PTR(request)) return;
  sent(moving);
  if (UCS_PTR_IS_ERR(request)) lose(peer, ucs_status_string(UCS_PTR_STATUS(request)));
}

void UcxTransport::part() {
  const Envelope goodbye{{}, settings_.self, 1, own_proof_};
  const std::lock_guard lock(mutex_);
  for (const auto& [id, peer] : peers_) {
    peer->parting = true;  // they may close before we do
    if (peer->gone || peer->end == nullptr) continue;
    Block* block = pool_.take(kEnvelopeRoom);
    std::memcpy(block->data(), &goodbye, sizeof goodbye);
    peer->queued += block->bytes;
    send(*peer, block, goodbye.header);
  }
}

UcxTransport::Moving& UcxTransport::start_moving(Peer& peer, Block* block, const Header& header) {
  Moving& moving = moving_.emplace_back(Moving{peer, block, header, {}});
  moving.place = std::prev(moving_.end());
  return moving;
}

// UCX needs the memory of a message no more.
void UcxTransport::sent(Moving& moving) {
  Peer& peer = moving.peer;
  peer.queued -= moving.block->bytes;
  pool_.drop(moving.block);
  moving_.erase(moving.place);
  if (std::exchange(peer.wanted, false)) doorbell_.ring();
}

bool UcxTransport::poll(Message& message) {
  const std::lock_guard lock(mutex_);
  ++polls_;
  if (inbox_.empty()) progress();
  if (inbox_.empty()) {
    if (!watched_ && doorbell_.awaited()) {
      watched_ = true;
      reactor_.post([this] { watch(); });
    }
    return false;
  }
  const Arrived one = inbox_.front();
  inbox_.pop_front();
  inbox_bytes_ -= one.header.bytes;
  message.from = one.from;
  message.header = one.header;
  message.payload = one.block != nullptr ? one.block->data() : static_cast<std::byte*>(one.data);
  message.token = reinterpret_cast<std::uintptr_t>(one.block);
  return true;
}

}  // namespace weft::runtime
#endif

// The part of the UCX transport that receives, and that makes it go on while nobody polls.
#ifdef WEFT_UCX
#include <openssl/crypto.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "runtime/ucx/ucx_members.h"

namespace weft::runtime {
namespace {

constexpr std::size_t kMostUcxInboxBytes = 64
                                           << 20;  // that nobody polled, then nothing more is read
constexpr int kMostSteps = 16;                     // of UCX in one poll
constexpr Seconds kPollerGone_s =
    1e-3;  // after which a poller that is not seen again counts as gone

}  // namespace

ucs_status_t UcxTransport::arrived(const void* envelope_bytes, std::size_t envelope_size,
                                   void* data, std::size_t bytes, const ucp_am_recv_param_t* how) {
  Envelope envelope;
  if (envelope_size != sizeof envelope || bytes > kMaxMessage) return UCS_OK;
  std::memcpy(&envelope, envelope_bytes, sizeof envelope);
  const auto known = peers_.find(envelope.from);
  const Token proof = known == peers_.end() ? proof_of(envelope.from) : known->second->proof;
  if (CRYPTO_memcmp(proof.data(), envelope.proof.data(), proof.size()) != 0) return UCS_OK;
  if (envelope.header.bytes != bytes || envelope.from == settings_.self) return UCS_OK;
  // Whoever proved itself may have learned of the membership before us.
  Peer& peer = peer_of(envelope.from);
  peer.parting = peer.parting || envelope.parting != 0;
  if (peer.gone || envelope.parting != 0) return UCS_OK;
  // With an end of our own we hear when the other one fails.
  if (peer.end == nullptr) unsettled_ = true;
  if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    return fetch(peer, envelope.header, data);
  }
  Arrived one{peer.id, envelope.header, nullptr, nullptr};
  if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0 && bytes > 0) {
    one.data = data;
    take(one);
    return UCS_INPROGRESS;
  }
  one.block = pool_.take(bytes);
  if (bytes > 0) std::memcpy(one.block->data(), data, bytes);
  take(one);
  return UCS_OK;
}

// The sender waits for us to say where its bytes are to go.
ucs_status_t UcxTransport::fetch(Peer& peer, const Header& header, void* data) {
  Moving& moving = start_moving(peer, pool_.take(header.bytes), header);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = [](void* request, ucs_status_t status, std::size_t, void* which) {
    auto& message = *static_cast<Moving*>(which);
    message.peer.transport.fetched(message, status == UCS_OK);
    ucp_request_free(request);
  };
  param.user_data = &moving;
  const ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(worker_->get(), data, moving.block->data(), header.bytes, &param);
  if (!UCS_PTR_IS_PTR(request)) fetched(moving, !UCS_PTR_IS_ERR(request));
  return UCS_INPROGRESS;
}

// Without all of its bytes a message is lost; why is told of the sender's end.
void UcxTransport::fetched(Moving& moving, bool whole) {
  if (whole && !moving.peer.gone) {
    take({moving.peer.id, moving.header, moving.block, nullptr});
  } else {
    pool_.drop(moving.block);
  }
  moving_.erase(moving.place);
}

void UcxTransport::take(const Arrived& one) {
  inbox_.push_back(one);
  inbox_bytes_ += one.header.bytes;
  ++counts_.messages_received;
  counts_.bytes_received += one.header.bytes;
}

void UcxTransport::drop(const Arrived& one) {
  if (one.block != nullptr) pool_.drop(one.block);
  if (one.data != nullptr) ucp_am_data_release(worker_->get(), one.data);
}

void UcxTransport::release(const Message& message) {
  auto* block = reinterpret_cast<Block*>(static_cast<std::uintptr_t>(message.token));
  if (block != nullptr) return pool_.drop(block);
  const std::lock_guard lock(mutex_);
  ucp_am_data_release(worker_->get(), const_cast<std::byte*>(message.payload));
}

void UcxTransport::progress() {
  for (int i = 0; i < kMostSteps && worker_->progress(); ++i) {
  }
  if (unsettled_) settle();
}

// What callbacks of UCX must not do themselves.
void UcxTransport::settle() {
  unsettled_ = false;
  for (const auto& [id, peer] : peers_) {
    if (!peer->trouble.empty()) lose(*peer, peer->trouble);
    connect(*peer);
  }
}

void UcxTransport::forget(MemberId member) {
  const std::lock_guard lock(mutex_);
  Peer& peer = peer_of(member);
  peer.gone = true;
  close_end(peer);
  if (std::exchange(peer.wanted, false)) doorbell_.ring();
  std::erase_if(inbox_, [&](const Arrived& one) {
    if (one.from != member) return false;
    inbox_bytes_ -= one.header.bytes;
    drop(one);
    return true;
  });
}

void UcxTransport::welcome(MemberId member) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(member);
  if (found == peers_.end() || !found->second->gone) return;
  retired_.push_back(std::move(found->second));
  peers_.erase(found);
}

bool UcxTransport::idle() {
  const std::lock_guard lock(mutex_);
  progress();
  const bool waits = std::any_of(peers_.begin(), peers_.end(), [](const auto& entry) {
    return !entry.second->gone && entry.second->queued > 0;
  });
  if (waits) return false;
  if (flush_ == nullptr) {
    const ucp_request_param_t param{};
    const ucs_status_ptr_t request = ucp_worker_flush_nbx(worker_->get(), &param);
    if (!UCS_PTR_IS_PTR(request)) return true;
    flush_ = request;
  }
  if (ucp_request_check_status(flush_) == UCS_INPROGRESS) return false;
  ucp_request_free(std::exchange(flush_, nullptr));
  return true;
}

TransportCounts UcxTransport::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// The reactor waits for events from now on. Nothing that is there already is missed: UCX refuses to
// be armed then.
void UcxTransport::watch() {
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    do {
      while (inbox_bytes_ < kMostUcxInboxBytes && worker_->progress()) {
      }
      if (unsettled_) settle();
      watched_ = inbox_bytes_ < kMostUcxInboxBytes;
    } while (watched_ && !worker_->arm());
    if (!watched_) {  // until somebody has polled
      reactor_.modify(worker_->descriptor(), 0);
      look_later();
    }
    if (watched_) reactor_.modify(worker_->descriptor(), EPOLLIN);
    news = !inbox_.empty();
  }
  if (news) doorbell_.ring();
}

void UcxTransport::on_event() {
  {
    const std::lock_guard lock(mutex_);
    const bool polled = std::exchange(polls_seen_, polls_) != polls_;
    // Whoever announced itself before it polled may be asleep by now.
    if (polled && !doorbell_.awaited()) {
      watched_ = false;
      reactor_.modify(worker_->descriptor(), 0);
      return look_later();
    }
  }
  watch();
}

void UcxTransport::look_later() {
  if (!look_) look_ = reactor_.after(kPollerGone_s, [this] { look(); });
}

void UcxTransport::look() {
  look_.reset();
  {
    const std::lock_guard lock(mutex_);
    if (watched_) return;
    const bool polled = std::exchange(polls_seen_, polls_) != polls_;
    if (polled && !doorbell_.awaited()) return look_later();
  }
  watch();
}

}  // namespace weft::runtime
#endif

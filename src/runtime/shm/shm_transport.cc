#include "runtime/shm/shm_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/stopwatch.h"

namespace weft::runtime {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(RingEntry::header);
static_assert(offsetof(Header, spare) == kHeaderBytes);

}  // namespace

ShmTransport::ShmTransport(MemberId self, Segment& own) : self_(self), own_(own) {
  for (std::uint32_t slot = kSlots; slot-- > 0;) free_.push_back(slot);
}

ShmTransport::Peer* ShmTransport::find(MemberId member) const {
  for (const auto& peer : peers_) {
    if (peer->member == member && !peer->gone) return peer.get();
  }
  return nullptr;
}

Status ShmTransport::attach(MemberId member, const std::string& where) {
  if (find(member) != nullptr) return {};
  auto segment = Segment::open(where, member);
  if (!segment.ok()) return segment.error();
  auto peer = std::make_unique<Peer>(Peer{member, std::move(*segment)});
  for (; peer->ring < kRings; ++peer->ring) {
    std::uint32_t nobody = 0;
    if (peer->segment->rings[peer->ring].sender.compare_exchange_strong(nobody, self_ + 1)) break;
  }
  if (peer->ring == kRings) {
    return Error{ErrorKind::kUnsupported,
                 fmt::format("member {} already hears {} processes of its host", member, kRings),
                 "start fewer ranks on one host"};
  }
  peer->segment.bell().ring();  // it may wait for us to join
  peers_.push_back(std::move(peer));
  ++counts_.connections;
  return {};
}

int ShmTransport::free_slot() {
  if (free_.empty()) {
    std::erase_if(busy_, [&](std::uint32_t slot) {
      if (own_->slots[slot].readers.load(std::memory_order_acquire) != 0) return false;
      free_.push_back(slot);
      return true;
    });
  }
  if (free_.empty()) return -1;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return static_cast<int>(slot);
}

bool ShmTransport::entries_free(std::span<const MemberId> to) const {
  return std::all_of(to.begin(), to.end(), [&](MemberId member) {
    Peer* peer = find(member);
    if (peer == nullptr) return true;
    if (!joined(*peer)) return false;
    const Ring& ring = peer->segment->rings[peer->ring];
    const RingEntry& entry = ring.entries[peer->position % kRingEntries];
    return entry.turn.load(std::memory_order_acquire) == peer->position;
  });
}

Room ShmTransport::reserve(std::span<const MemberId> to, std::size_t bytes, bool spare_caches) {
  CHECK(bytes <= kSlotBytes && !to.empty());
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (entries_free(to)) {
      const int slot = free_slot();
      if (slot >= 0) {
        const StoreChoice::Decision decision = stores_.next(bytes, spare_caches);
        around_ = decision.around;
        timed_since_ = decision.timed ? monotonic_ns() : 0;
        return {own_->data[slot], around_};
      }
    }
    // Announce the wish before looking again, so that whoever frees something sees it or we do.
    own_->wants_room.store(1, std::memory_order_seq_cst);
  }
  return {};
}

void ShmTransport::post(std::byte* room, std::span<const MemberId> to, const Header& header) {
  if (timed_since_ != 0) stores_.tell(header.bytes, around_, monotonic_ns() - timed_since_);
  const auto slot = static_cast<std::uint32_t>((room - own_->data[0]) / kSlotBytes);
  std::uint64_t readers = 0;
  for (const MemberId member : to) {
    const Peer* peer = find(member);
    if (peer != nullptr) readers |= std::uint64_t{1} << peer->own_ring;
  }
  own_->slots[slot].readers.store(readers, std::memory_order_relaxed);
  for (const MemberId member : to) {
    Peer* peer = find(member);
    if (peer == nullptr) continue;
    RingEntry& entry = peer->segment->rings[peer->ring].entries[peer->position % kRingEntries];
    entry.slot = slot;
    std::memcpy(entry.header, &header, kHeaderBytes);
    entry.turn.store(++peer->position, std::memory_order_release);
    peer->segment.bell().ring();
    ++counts_.messages_sent;
    counts_.bytes_sent += header.bytes;
  }
  busy_.push_back(slot);
  if (own_->wants_room.load(std::memory_order_relaxed) != 0) {
    own_->wants_room.store(0, std::memory_order_relaxed);
  }
}

bool ShmTransport::joined(Peer& peer) const {
  for (std::uint32_t i = 0; peer.own_ring < 0 && i < kRings; ++i) {
    if (own_->rings[i].sender.load(std::memory_order_acquire) != peer.member + 1) continue;
    peer.own_ring = static_cast<int>(i);
    break;
  }
  return peer.own_ring >= 0;
}

bool ShmTransport::poll(Peer& peer, Message& message) {
  if (!joined(peer)) return false;
  RingEntry& entry = own_->rings[peer.own_ring].entries[peer.taken % kRingEntries];
  if (entry.turn.load(std::memory_order_acquire) != peer.taken + 1) return false;
  const std::uint32_t slot = entry.slot;
  message.from = peer.member;
  message.header = {};
  std::memcpy(static_cast<void*>(&message.header), entry.header, kHeaderBytes);
  entry.turn.store(peer.taken + kRingEntries, std::memory_order_release);
  ++peer.taken;
  if (slot >= kSlots || message.header.bytes > kSlotBytes) return false;  // not one of ours
  message.payload = peer.segment->data[slot];
  message.token = slot;
  ++peer.held;
  ++counts_.messages_received;
  counts_.bytes_received += message.header.bytes;
  return true;
}

bool ShmTransport::poll(Message& message) {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = *peers_[(next_ + i) % peers_.size()];
    if (!peer.gone && poll(peer, message)) {
      next_ = (next_ + i) % peers_.size();
      return true;
    }
  }
  return false;
}

void ShmTransport::release(const Message& message) {
  for (const auto& peer : peers_) {
    if (peer->member != message.from || peer->held == 0) continue;
    --peer->held;
    SegmentMap& segment = *peer->segment;
    segment.slots[message.token].readers.fetch_and(~(std::uint64_t{1} << peer->ring),
                                                   std::memory_order_seq_cst);
    if (segment.wants_room.load(std::memory_order_seq_cst) != 0) peer->segment.bell().ring();
    break;
  }
  drop_gone();
}

void ShmTransport::forget(MemberId member) {
  Peer* peer = find(member);
  if (peer == nullptr) return;
  peer->gone = true;
  --counts_.connections;
  if (joined(*peer)) {
    for (SlotState& slot : own_->slots) {
      slot.readers.fetch_and(~(std::uint64_t{1} << peer->own_ring), std::memory_order_seq_cst);
    }
  }
  drop_gone();
}

void ShmTransport::drop_gone() {
  std::erase_if(peers_, [](const auto& peer) { return peer->gone && peer->held == 0; });
}

}  // namespace weft::runtime

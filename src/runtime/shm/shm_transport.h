// Messages between processes of one host, through shared memory. A message is copied once, into a
// slot of the sender; receivers read it there. Several receivers share one copy.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/shm/segment.h"
#include "runtime/shm/store_choice.h"
#include "runtime/transport.h"

namespace weft::runtime {

class ShmTransport : public Transport {
 public:
  // Requires: `own` outlives the transport.
  ShmTransport(MemberId self, Segment& own);

  // Joins with a member of this host. `where` names its segment.
  Status attach(MemberId member, const std::string& where);

  std::size_t max_message() const override { return kSlotBytes; }
  bool reaches(MemberId member) const override { return find(member) != nullptr; }
  Room reserve(std::span<const MemberId> to, std::size_t bytes, bool spare_caches) override;
  void post(std::byte* room, std::span<const MemberId> to, const Header& header) override;
  bool poll(Message& message) override;
  void release(const Message& message) override;
  void forget(MemberId member) override;
  TransportCounts counts() const override { return counts_; }

 private:
  struct Peer {
    MemberId member;
    Segment segment;
    std::uint32_t ring = 0;      // of ours in its segment
    std::uint32_t position = 0;  // next entry to fill there
    std::uint32_t taken = 0;     // next entry to take from its ring in ours
    int own_ring = -1;           // its ring in our segment, once it has claimed one
    std::uint32_t held = 0;      // messages polled and not released
    bool gone = false;           // forgotten; unmapped when nothing of it is held
  };

  Peer* find(MemberId member) const;
  int free_slot();
  bool entries_free(std::span<const MemberId> to) const;
  // Whether the peer has joined from its side. Cost: a look at all rings until it has.
  bool joined(Peer& peer) const;
  bool poll(Peer& peer, Message& message);
  void drop_gone();

  MemberId self_;
  Segment& own_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::size_t next_ = 0;             // of peers_, polled first
  std::vector<std::uint32_t> free_;  // slots, the last used one on top: it is still in the cache
  std::vector<std::uint32_t> busy_;
  StoreChoice stores_;
  bool around_ = false;           // how the message that is reserved is written
  std::int64_t timed_since_ = 0;  // when it was reserved; 0: not timed
  TransportCounts counts_;
};

}  // namespace weft::runtime

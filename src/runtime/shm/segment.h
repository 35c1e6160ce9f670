// The memory by which the processes of a host exchange messages. Each member has one segment: the
// bell it sleeps on, the rings in which others announce messages to it, and the slots that hold the
// messages it sends. Others map it; what they find in it is checked before it is used. A segment
// serves one membership: what a member that was left out still writes reaches nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/doorbell.h"
#include "runtime/transport.h"

namespace weft::runtime {

inline constexpr std::uint32_t kSlotBytes = 256 << 10;
inline constexpr std::uint32_t kSlots = 32;
inline constexpr std::uint32_t kRings = 64;        // processes of a host that may send to one
inline constexpr std::uint32_t kRingEntries = 64;  // announced and not yet taken
inline constexpr std::uint32_t kNoSlot = 0xffffffff;

// One announced message. Entry p % kRingEntries is free for position p when turn == p, filled when
// turn == p + 1 (the bounded queue of Vyukov with one producer and one consumer).
struct alignas(64) RingEntry {
  std::atomic<std::uint32_t> turn;
  std::uint32_t slot;  // of the sender
  std::byte header[48];  // the first 48 bytes of Header
};
static_assert(sizeof(RingEntry) == 64);

struct alignas(64) Ring {
  std::atomic<std::uint32_t> sender;  // member + 1; 0: free
  alignas(64) RingEntry entries[kRingEntries];
};

// Who has not released the slot yet: bit i is whoever claimed ring i of this segment.
struct alignas(64) SlotState {
  std::atomic<std::uint64_t> readers;
};
static_assert(kRings <= 64);

struct SegmentMap {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t member;
  alignas(64) DoorbellWord bell;
  alignas(64) std::atomic<std::uint32_t> wants_room;  // ring the bell when a slot or entry is free
  alignas(64) Ring rings[kRings];
  SlotState slots[kSlots];
  alignas(4096) std::byte data[kSlots][kSlotBytes];
};

// Owns a mapping.
class Segment {
 public:
  // Makes the segment of `member`: memory without a name that is gone when the last process that
  // maps it ends.
  static Result<Segment> create(MemberId member);
  // Maps the segment of another process of this host. `where` is what where() gave there.
  static Result<Segment> open(const std::string& where, MemberId member);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  // By which others of the host find it: process and descriptor.
  std::string where() const;
  SegmentMap* operator->() const { return map_; }
  SegmentMap& operator*() const { return *map_; }

 private:
  Segment(int descriptor, SegmentMap* map) : descriptor_(descriptor), map_(map) {}
  int descriptor_ = -1;
  SegmentMap* map_ = nullptr;
};

}  // namespace weft::runtime

// The memory by which the processes of a host exchange messages. Each member has one segment: the
// rings in which others announce messages to it, and the slots that hold the messages it sends.
// Others map it; what they find in it is checked before it is used. A segment serves one
// membership: what a member that was left out still writes reaches nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

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
  std::uint32_t slot;    // of the sender
  std::byte header[52];  // the first bytes of Header
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
  alignas(64) std::atomic<std::uint32_t> wants_room;  // ring the bell when a slot or entry is free
  alignas(64) Ring rings[kRings];
  SlotState slots[kSlots];
  alignas(4096) std::byte data[kSlots][kSlotBytes];
};

// Memory without a name that several processes map; it is gone when the last of them ends.
class SharedPages {
 public:
  static Result<SharedPages> create(std::size_t bytes);
  // That of another process, by its number there. Refused: another size, or what could shrink.
  static Result<SharedPages> open(const std::string& pid, const std::string& descriptor,
                                  std::size_t bytes);
  SharedPages(SharedPages&& other) noexcept;
  SharedPages& operator=(SharedPages&& other) noexcept;
  ~SharedPages();

  int descriptor() const { return descriptor_; }
  void* memory() const { return memory_; }

 private:
  SharedPages(int descriptor, void* memory, std::size_t bytes)
      : descriptor_(descriptor), memory_(memory), bytes_(bytes) {}
  int descriptor_ = -1;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// The bell that a process sleeps on for its whole life.
class SharedBell {
 public:
  static Result<SharedBell> create();
  Doorbell bell() const { return Doorbell(static_cast<DoorbellWord*>(pages_.memory())); }
  int descriptor() const { return pages_.descriptor(); }

 private:
  friend class Segment;
  explicit SharedBell(SharedPages pages) : pages_(std::move(pages)) {}
  SharedPages pages_;
};

class Segment {
 public:
  // Requires: `bell` is that of this process and outlives what others do with the segment.
  static Result<Segment> create(MemberId member, const SharedBell& bell);
  // Maps the segment of another process of this host. `where` is what where() gave there.
  static Result<Segment> open(const std::string& where, MemberId member);

  // By which others of the host find it: process, descriptor, and that of the bell.
  const std::string& where() const { return where_; }
  Doorbell bell() const { return bell_.bell(); }
  SegmentMap* operator->() const { return static_cast<SegmentMap*>(pages_.memory()); }
  SegmentMap& operator*() const { return *operator->(); }

 private:
  Segment(SharedPages pages, SharedBell bell, std::string where)
      : pages_(std::move(pages)), bell_(std::move(bell)), where_(std::move(where)) {}
  SharedPages pages_;
  SharedBell bell_;
  std::string where_;
};

}  // namespace weft::runtime

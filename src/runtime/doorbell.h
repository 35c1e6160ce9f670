// What a rank sleeps on. Anyone may ring: other processes of the host through shared memory, the
// threads that serve sockets, or a thread that hands in an operation.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace weft::runtime {

// Lives in shared memory: no pointers, and zero is its first state.
struct DoorbellWord {
  std::atomic<std::uint32_t> rings;
  std::atomic<std::uint32_t> sleepers;
};

// Thread-safety: all of it.
class Doorbell {
 public:
  // Requires: `word` outlives the doorbell.
  explicit Doorbell(DoorbellWord* word) : word_(word) {}

  // To be read before looking for work; what happens later makes wait() return.
  std::uint32_t seen() const { return word_->rings.load(std::memory_order_acquire); }
  // Wakes whoever sleeps. Cost: one atomic addition; a system call only when somebody sleeps.
  void ring();
  // Sleeps until rung after `seen`, or for `at_most` seconds. Spurious returns are allowed.
  void wait(std::uint32_t seen, Seconds at_most);

 private:
  DoorbellWord* word_;
};

}  // namespace weft::runtime

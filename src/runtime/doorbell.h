// What a rank sleeps on. Anyone may ring: other processes of the host through shared memory, the
// threads that serve sockets, or a thread that hands in an operation.
//
// Nothing is lost because both sides write before they read: who rings has made its work visible
// before it looks for sleepers; who sleeps has announced itself before it looks for work once more.
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

  // Wakes whoever announced itself. Cost: a fence and a read while nobody sleeps.
  void ring();

  // Whether somebody has announced itself.
  bool awaited() const { return word_->sleepers.load(std::memory_order_acquire) > 0; }

  // Before going to sleep: announce(), look for work, then either sleep() or retract().
  std::uint32_t announce();
  void retract() { word_->sleepers.fetch_sub(1, std::memory_order_relaxed); }
  // Sleeps until rung after announce() gave `seen`, or for `at_most` seconds, and retracts.
  // Spurious returns are allowed.
  void sleep(std::uint32_t seen, Seconds at_most);

 private:
  DoorbellWord* word_;
};

}  // namespace weft::runtime

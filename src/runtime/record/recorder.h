// The step recorder of a rank: the last events, in a ring that its threads write without locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/record/event.h"

namespace weft::runtime {

// Thread-safety: all of it.
class Recorder {
 public:
  // Requires: capacity is a power of two.
  explicit Recorder(std::size_t capacity = 1 << 14);

  // Keeps the event, and its thread. An older one makes room. Cost: no allocation, one cache line.
  // A thread that is held up here while the others write a whole ring may spoil one event.
  void add(Event event);
  // Those of the last `capacity` that are whole, in order.
  std::vector<Event> events() const;
  std::uint64_t recorded() const {
    return next_.load(std::memory_order_relaxed) - first_.load(std::memory_order_relaxed);
  }
  // What was recorded until now never was.
  void forget() { first_.store(next_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kWords = sizeof(Event) / 8;
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> stamp = 0;  // 1 + number of the event; 0: being written
    std::atomic<std::uint64_t> words[kWords] = {};
  };
  static_assert(sizeof(Cell) == 64);

  std::size_t mask_;
  std::unique_ptr<Cell[]> cells_;
  std::atomic<std::uint64_t> first_ = 0;  // that counts
  alignas(64) std::atomic<std::uint64_t> next_ = 0;
};

}  // namespace weft::runtime

#include "runtime/record/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"

namespace weft::runtime {
namespace {

std::uint32_t this_thread() {
  thread_local const auto number = static_cast<std::uint32_t>(gettid());
  return number;
}

}  // namespace

Recorder::Recorder(std::size_t capacity)
    : mask_(capacity - 1), cells_(std::make_unique<Cell[]>(capacity)) {
  CHECK(std::has_single_bit(capacity));
}

// Release stores keep their order, so whoever sees a word of the new event sees the stamp cleared.
void Recorder::add(Event event) {
  event.thread = this_thread();
  const auto words = std::bit_cast<std::array<std::uint64_t, kWords>>(event);
  const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
  Cell& cell = cells_[number & mask_];
  cell.stamp.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kWords; ++i) cell.words[i].store(words[i], std::memory_order_release);
  cell.stamp.store(number + 1, std::memory_order_release);
}

std::vector<Event> Recorder::events() const {
  const std::uint64_t end = next_.load(std::memory_order_acquire);
  const std::uint64_t begin = std::max(end - std::min<std::uint64_t>(end, mask_ + 1),
                                       first_.load(std::memory_order_relaxed));
  std::vector<Event> events;
  events.reserve(static_cast<std::size_t>(end - begin));
  for (std::uint64_t number = begin; number < end; ++number) {
    const Cell& cell = cells_[number & mask_];
    if (cell.stamp.load(std::memory_order_acquire) != number + 1) continue;
    std::array<std::uint64_t, kWords> words;
    for (std::size_t i = 0; i < kWords; ++i)
      words[i] = cell.words[i].load(std::memory_order_acquire);
    if (cell.stamp.load(std::memory_order_relaxed) != number + 1) continue;
    events.push_back(std::bit_cast<Event>(words));
  }
  return events;
}

}  // namespace weft::runtime

#include "runtime/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <ctime>

namespace weft::runtime {
namespace {

// Not private: the word may lie in memory that processes share.
long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value,
           const timespec* timeout) {
  static_assert(sizeof(*word) == sizeof(std::uint32_t));
  return syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

// Orders what was written before against what is read from `word` afterwards. The thread sanitizer
// does not know fences.
std::uint32_t read_after_fence(std::atomic<std::uint32_t>& word) {
#ifdef __SANITIZE_THREAD__
  return word.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return word.load(std::memory_order_acquire);
#endif
}

}  // namespace

void Doorbell::ring() {
  if (read_after_fence(word_->sleepers) == 0) return;
  word_->rings.fetch_add(1, std::memory_order_release);
  futex(&word_->rings, FUTEX_WAKE, INT_MAX, nullptr);
}

std::uint32_t Doorbell::announce() {
  word_->sleepers.fetch_add(1, std::memory_order_seq_cst);
  return read_after_fence(word_->rings);
}

void Doorbell::sleep(std::uint32_t seen, Seconds at_most) {
  const Seconds bounded = std::clamp(at_most, 0.0, 3600.0);
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(bounded);
  timeout.tv_nsec = static_cast<long>((bounded - std::floor(bounded)) * 1e9);
  futex(&word_->rings, FUTEX_WAIT, seen, &timeout);
  retract();
}

}  // namespace weft::runtime

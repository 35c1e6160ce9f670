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

}  // namespace

void Doorbell::ring() {
  word_->rings.fetch_add(1, std::memory_order_seq_cst);
  if (word_->sleepers.load(std::memory_order_seq_cst) != 0) {
    futex(&word_->rings, FUTEX_WAKE, INT_MAX, nullptr);
  }
}

void Doorbell::wait(std::uint32_t seen, Seconds at_most) {
  const Seconds bounded = std::clamp(at_most, 0.0, 3600.0);
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(bounded);
  timeout.tv_nsec = static_cast<long>((bounded - std::floor(bounded)) * 1e9);
  word_->sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (word_->rings.load(std::memory_order_seq_cst) == seen) {
    futex(&word_->rings, FUTEX_WAIT, seen, &timeout);
  }
  word_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace weft::runtime

// Memory for messages, taken and given back by any thread and kept warm in between.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace weft::runtime {

// Memory with a count of those who hold it.
struct alignas(64) Block {
  std::atomic<std::uint32_t> holds = 1;
  std::uint32_t size_class = 0;
  std::uint32_t bytes = 0;  // that were asked for

  std::byte* data() { return reinterpret_cast<std::byte*>(this) + sizeof(Block); }
  // Requires: `data` came from data().
  static Block* of(std::byte* data) { return reinterpret_cast<Block*>(data - sizeof(Block)); }
};
static_assert(sizeof(Block) == 64);

// Thread-safety: all of it.
class BlockPool {
 public:
  // Sizes are powers of two plus `extra`, up to `most` plus extra; at most `kept` bytes are kept.
  BlockPool(std::size_t most, std::size_t extra, std::size_t kept);
  ~BlockPool();  // Requires: every block was dropped.
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Held once. Aligned to 64 bytes. Requires: bytes <= most + extra.
  Block* take(std::size_t bytes);
  void drop(Block* block);
  // Blocks that somebody holds.
  std::size_t held() const { return held_.load(); }

 private:
  static constexpr std::size_t kClasses = 24, kLeastShift = 10;
  std::size_t size_of(std::size_t size_class) const;

  std::size_t most_, extra_, kept_;
  std::atomic<std::size_t> held_ = 0;
  std::mutex mutex_;
  std::size_t free_bytes_ = 0;  // under mutex_
  std::array<std::vector<Block*>, kClasses> free_;
};

}  // namespace weft::runtime

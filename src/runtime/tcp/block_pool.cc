#include "runtime/tcp/block_pool.h"

#include <bit>
#include <new>

#include "base/check.h"

namespace weft::runtime {
namespace {

void free_block(Block* block) {
  block->~Block();
  ::operator delete (block, std::align_val_t{alignof(Block)});
}

}  // namespace

BlockPool::BlockPool(std::size_t most, std::size_t extra, std::size_t kept)
    : most_(most), extra_(extra), kept_(kept) {
  CHECK(most <= std::size_t{1} << (kLeastShift + kClasses - 1));
}

BlockPool::~BlockPool() {
  CHECK_MSG(held() == 0, "a message was not released");
  for (auto& blocks : free_) {
    for (Block* block : blocks) free_block(block);
  }
}

std::size_t BlockPool::size_of(std::size_t size_class) const {
  return (std::size_t{1} << (kLeastShift + size_class)) + extra_;
}

Block* BlockPool::take(std::size_t bytes) {
  CHECK(bytes <= most_ + extra_);
  const std::size_t beyond = bytes > extra_ ? bytes - extra_ : 1;
  const auto width = static_cast<std::size_t>(std::bit_width(beyond - 1));
  const std::size_t size_class = width > kLeastShift ? width - kLeastShift : 0;
  ++held_;
  Block* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& blocks = free_[size_class];
    if (!blocks.empty()) {
      block = blocks.back();
      blocks.pop_back();
      free_bytes_ -= size_of(size_class);
    }
  }
  if (block == nullptr) {
    void* memory =
        ::operator new (sizeof(Block) + size_of(size_class), std::align_val_t{alignof(Block)});
    block = new (memory) Block;
    block->size_class = static_cast<std::uint32_t>(size_class);
  }
  block->holds.store(1, std::memory_order_relaxed);
  block->bytes = static_cast<std::uint32_t>(bytes);
  return block;
}

void BlockPool::drop(Block* block) {
  const std::uint32_t before = block->holds.fetch_sub(1, std::memory_order_acq_rel);
  CHECK(before >= 1);
  if (before > 1) return;
  --held_;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = size_of(block->size_class);
    if (free_bytes_ + bytes <= kept_) {
      free_bytes_ += bytes;
      free_[block->size_class].push_back(block);
      return;
    }
  }
  free_block(block);
}

}  // namespace weft::runtime

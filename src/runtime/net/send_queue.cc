#include "runtime/net/send_queue.h"

#include <algorithm>

#include "base/check.h"

namespace weft::runtime {

void SendQueue::push(Piece piece) {
  if (piece.bytes.empty()) return;
  if (piece.keep) {
    parts_.push_back({piece.bytes.data(), piece.bytes.size(), nullptr, std::move(piece.keep)});
    return;
  }
  auto own = std::make_unique<std::byte[]>(piece.bytes.size());
  std::memcpy(own.get(), piece.bytes.data(), piece.bytes.size());
  push(std::move(own), piece.bytes.size(), nullptr);
}

void SendQueue::push(std::unique_ptr<std::byte[]> bytes, std::size_t size,
                     std::shared_ptr<const void> keep) {
  CHECK(size > 0);
  const std::byte* data = bytes.get();
  parts_.push_back({data, size, std::move(bytes), std::move(keep)});
}

std::size_t SendQueue::fill(std::span<iovec> out) const {
  const std::size_t count = std::min(out.size(), parts_.size());
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = {const_cast<std::byte*>(parts_[i].data), parts_[i].size};
  }
  return count;
}

void SendQueue::consume(std::size_t bytes) {
  while (bytes > 0) {
    CHECK(!parts_.empty());
    Part& part = parts_.front();
    const std::size_t taken = std::min(bytes, part.size);
    part.data += taken;
    part.size -= taken;
    bytes -= taken;
    if (part.size == 0) parts_.pop_front();
  }
}

}  // namespace weft::runtime

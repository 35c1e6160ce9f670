// Bytes that wait to be written, as pieces that are copied or kept alive by someone else's hold.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include "runtime/net/bytes.h"

namespace weft::runtime {

// With `keep`, the bytes are not copied and must stay as they are while it lives.
// shared_ptr: several connections may send the same bytes.
struct Piece {
  ByteView bytes;
  std::shared_ptr<const void> keep = nullptr;
};

class SendQueue {
 public:
  void push(Piece piece);
  // Bytes that are given away. `keep` is let go when they are written.
  void push(std::unique_ptr<std::byte[]> bytes, std::size_t size, std::shared_ptr<const void> keep);
  bool empty() const { return parts_.empty(); }
  // Fills as many of `out` as there are; returns how many.
  std::size_t fill(std::span<iovec> out) const;
  // The first `bytes` were written.
  void consume(std::size_t bytes);
  void clear() { parts_.clear(); }

 private:
  struct Part {
    const std::byte* data;
    std::size_t size;
    std::unique_ptr<std::byte[]> own;
    std::shared_ptr<const void> keep;
  };
  std::deque<Part> parts_;
};

}  // namespace weft::runtime

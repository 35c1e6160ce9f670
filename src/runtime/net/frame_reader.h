// Cuts a stream of bytes into frames. Long bodies go straight to the memory that their receiver
// names; the rest passes through a small buffer.
#pragma once

#include <sys/uio.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/net/frame.h"
#include "runtime/net/seal.h"

namespace weft::runtime {

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // Memory for a body of `bytes` with kSealBytes behind it, until frame(); nullptr: the reader's.
  virtual std::byte* body_room(std::uint16_t kind, std::size_t bytes) = 0;
  // A whole frame. False: no more are wanted.
  virtual bool frame(std::uint16_t kind, std::span<std::byte> body) = 0;
};

class FrameReader {
 public:
  // `most` bounds the body of a frame, without its seal. Requires: most <= kMostFrameBytes.
  FrameReader(std::size_t most, FrameSink& sink);

  // From the first frame on the bodies are opened with `seal`.
  void use(std::unique_ptr<Seal> seal) { seal_ = std::move(seal); }

  // Where the next bytes shall be written, in this order.
  std::span<iovec> room();
  // `bytes` were written there. False when the stream ended here: a frame was wrong or the sink
  // wants no more.
  bool received(std::size_t bytes);
  // Takes bytes that came some other way. The same result.
  bool feed(ByteView bytes);
  // Why received() gave false; empty when the sink did not want more.
  const std::string& fault() const { return fault_; }
  bool inside_frame() const { return begun_ || filled_ > 0; }
  // Bytes without which nothing can be done: the rest of a long body. 0: any byte is welcome.
  std::size_t missing() const { return begun_ && body_ != nullptr ? header_.length - have_ : 0; }

 private:
  bool parse();
  bool begin_body();
  bool finish(std::span<std::byte> body);
  bool wrong(std::string why);

  std::size_t most_;
  FrameSink& sink_;
  std::unique_ptr<Seal> seal_;
  std::string fault_;
  std::vector<std::byte> buffer_;
  std::size_t start_ = 0, filled_ = 0;  // what is not parsed yet lies in [start_, start_ + filled_)
  std::array<iovec, 2> room_ = {};

  bool begun_ = false;  // header_ is of a frame whose body is not whole
  FrameHeader header_;
  std::array<std::byte, kFrameHeaderBytes> header_bytes_ = {};
  std::byte* body_ = nullptr;  // nullptr: to be passed on where it lies in buffer_
  std::size_t have_ = 0;       // of the body
  std::vector<std::byte> own_body_;
};

}  // namespace weft::runtime

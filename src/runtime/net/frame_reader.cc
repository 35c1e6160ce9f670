#include "runtime/net/frame_reader.h"

#include <fmt/core.h>

#include <algorithm>

namespace weft::runtime {
namespace {

constexpr std::size_t kBufferBytes = 64 << 10;
// Behind a long body little more is read: what follows it is copied once more than needed.
constexpr std::size_t kBehindBodyBytes = 4 << 10;

}  // namespace

FrameReader::FrameReader(std::size_t most, FrameSink& sink)
    : most_(most), sink_(sink), buffer_(kBufferBytes) {
  CHECK(most <= kMostFrameBytes);
}

bool FrameReader::wrong(std::string why) {
  fault_ = std::move(why);
  return false;
}

std::span<iovec> FrameReader::room() {
  if (begun_ && body_ != nullptr) {
    CHECK(filled_ == 0);
    start_ = 0;
    room_[0] = {body_ + have_, header_.length - have_};
    room_[1] = {buffer_.data(), kBehindBodyBytes};
    return room_;
  }
  if (start_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + start_, filled_);
    start_ = 0;
  }
  room_[0] = {buffer_.data() + filled_, buffer_.size() - filled_};
  return std::span(room_).first(1);
}

bool FrameReader::received(std::size_t bytes) {
  if (begun_ && body_ != nullptr) {
    const std::size_t direct = std::min<std::size_t>(bytes, header_.length - have_);
    have_ += direct;
    filled_ = bytes - direct;
    if (have_ < header_.length) return true;
    if (!finish({body_, header_.length})) return false;
  } else {
    filled_ += bytes;
  }
  return parse();
}

bool FrameReader::feed(ByteView bytes) {
  while (!bytes.empty()) {
    std::size_t copied = 0;
    for (const iovec& part : room()) {
      const std::size_t size = std::min(part.iov_len, bytes.size());
      if (size > 0) std::memcpy(part.iov_base, bytes.data(), size);
      bytes = bytes.subspan(size);
      copied += size;
    }
    if (!received(copied)) return false;
  }
  return true;
}

bool FrameReader::parse() {
  while (true) {
    if (!begun_) {
      if (filled_ < kFrameHeaderBytes) return true;
      if (!begin_body()) return false;
    }
    if (body_ == nullptr) {
      if (filled_ < header_.length) return true;
      const std::span<std::byte> body(buffer_.data() + start_, header_.length);
      start_ += body.size();
      filled_ -= body.size();
      if (!finish(body)) return false;
      continue;
    }
    const std::size_t size = std::min<std::size_t>(filled_, header_.length - have_);
    std::memcpy(body_ + have_, buffer_.data() + start_, size);
    start_ += size;
    filled_ -= size;
    have_ += size;
    if (have_ < header_.length) return true;
    if (!finish({body_, header_.length})) return false;
  }
}

bool FrameReader::begin_body() {
  std::memcpy(header_bytes_.data(), buffer_.data() + start_, kFrameHeaderBytes);
  const std::size_t extra = seal_ ? kSealBytes : 0;
  const auto header = decode_frame(header_bytes_, most_ + extra);
  if (!header) return wrong(fmt::format("a frame's header is wrong or names over {} bytes", most_));
  if (header->length < extra) return wrong("an encrypted frame is shorter than its seal");
  header_ = *header;
  start_ += kFrameHeaderBytes;
  filled_ -= kFrameHeaderBytes;
  begun_ = true;
  have_ = 0;
  body_ = sink_.body_room(header_.kind, header_.length - extra);
  if (body_ == nullptr && header_.length > kBufferBytes / 2) {
    own_body_.resize(header_.length);
    body_ = own_body_.data();
  }
  return true;
}

bool FrameReader::finish(std::span<std::byte> body) {
  begun_ = false;
  body_ = nullptr;
  if (seal_) {
    if (!seal_->open(header_bytes_, body)) return wrong("an encrypted frame was tampered with");
    body = body.first(body.size() - kSealBytes);
  }
  return sink_.frame(header_.kind, body);
}

}  // namespace weft::runtime

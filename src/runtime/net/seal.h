// Encryption of frames: AES-256-GCM with one key for each direction of each connection. A frame
// that was changed, left out, doubled or moved does not open.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/net/bytes.h"
#include "runtime/net/frame.h"
#include "runtime/net/secret.h"

namespace weft::runtime {

enum class Direction { kFromConnector, kFromListener };

// One direction of one connection. The n-th frame sealed is the n-th frame opened.
// Thread-safety: one caller at a time.
class Seal {
 public:
  // The key is HKDF-SHA256 (RFC 5869) of the secret; the nonces of both sides are the salt.
  Seal(const Secret& secret, const Nonce& connector, const Nonce& listener, Direction direction);
  ~Seal();
  Seal(const Seal&) = delete;
  Seal& operator=(const Seal&) = delete;

  // Writes size bytes of cipher and kSealBytes of tag to `out`. The header is covered by the tag.
  void seal(ByteView header, std::span<const ByteView> pieces, std::byte* out);
  // Opens in place; false when it is not the next frame of the other side.
  // Requires: body.size() >= kSealBytes.
  bool open(ByteView header, std::span<std::byte> body);

 private:
  struct Cipher;
  void next_nonce();

  std::unique_ptr<Cipher> cipher_;
  std::uint64_t count_ = 0;
};

}  // namespace weft::runtime

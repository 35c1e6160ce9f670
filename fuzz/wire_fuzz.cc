// Whatever the bytes are, the wire's decoders give sound values or refuse; cutting them into other
// pieces changes nothing, and what was decoded encodes to the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "runtime/net/frame_reader.h"
#include "runtime/net/handshake.h"
#include "runtime/net/store_wire.h"

namespace {

using namespace weft::runtime;

template <typename Message>
void check_message(ByteView bytes) {
  Message message;
  std::size_t used = 0;
  if (decode(bytes, message, used) != Parse::kDone) return;
  CHECK(used <= bytes.size() && message.label.size() <= kMostLabelBytes);
  const std::string again = encode(message);
  CHECK(again.size() == used && std::memcmp(again.data(), bytes.data(), used) == 0);
}

// Remembers frames; takes every other body into memory of its own.
class Sink : public FrameSink {
 public:
  std::byte* body_room(std::uint16_t kind, std::size_t bytes) override {
    if (kind % 2 == 0) return nullptr;
    room_.assign(bytes + kSealBytes, std::byte{});
    return room_.data();
  }
  bool frame(std::uint16_t kind, std::span<std::byte> body) override {
    text_ += std::to_string(kind) + ":";
    text_.append(reinterpret_cast<const char*>(body.data()), body.size());
    return kind != 0xffff;
  }
  const std::string& text() const { return text_; }

 private:
  std::vector<std::byte> room_;
  std::string text_;
};

std::string read_frames(ByteView bytes, std::size_t step, bool sealed) {
  Sink sink;
  FrameReader reader(5000, sink);
  if (sealed) {
    reader.use(std::make_unique<Seal>(Secret{}, Nonce{}, Nonce{}, Direction::kFromListener));
  }
  while (!bytes.empty()) {
    const std::size_t size = std::min(step, bytes.size());
    if (!reader.feed(bytes.first(size))) return sink.text() + reader.fault();
    bytes = bytes.subspan(size);
  }
  return sink.text();
}

// A side that does not know the secret never gets to the end.
void check_handshake(ByteView bytes, bool connects) {
  Identity identity;
  identity.secret.key.fill(1);
  Handshake handshake = connects ? Handshake::connector(identity, Purpose::kData, false, Nonce{})
                                 : Handshake::listener(identity, false, Nonce{});
  std::string out;
  ByteView in = bytes;
  CHECK(handshake.feed(in, out) != Handshake::State::kDone);
  CHECK(in.size() <= bytes.size() && out.size() <= kMostChallengeBytes + sizeof(Proof));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  check_message<Hello>(bytes);
  check_message<Challenge>(bytes);
  check_handshake(bytes, true);
  check_handshake(bytes, false);
  const std::string whole = read_frames(bytes, size, false);
  CHECK(whole == read_frames(bytes, 7, false));
  CHECK(whole == read_frames(bytes, 1000, false));
  CHECK(read_frames(bytes, size, true) == read_frames(bytes, 13, true));
  if (size < 2) return 0;
  std::uint16_t kind = 0;
  std::memcpy(&kind, data, 2);
  if (const auto request = decode_store_request(kind, bytes.subspan(2))) {
    const std::string again = encode(*request);
    CHECK(again.size() == size - 2 && std::memcmp(again.data(), data + 2, again.size()) == 0);
  }
  if (const auto answer = decode_store_answer(bytes)) {
    CHECK(encode(*answer).size() == size);
  }
  return 0;
}

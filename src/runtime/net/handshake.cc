#include "runtime/net/handshake.h"

namespace weft::runtime {
namespace {

template <typename Message>
Handshake::State take(ByteView& in, Message& message, std::string& bytes, bool& heard) {
  std::size_t used = 0;
  switch (decode(in, message, used)) {
    case Parse::kMore:
      return Handshake::State::kGoing;
    case Parse::kBad:
      return Handshake::State::kStranger;
    case Parse::kDone:
      break;
  }
  bytes.assign(reinterpret_cast<const char*>(in.data()), used);
  in = in.subspan(used);
  heard = true;
  return Handshake::State::kDone;
}

void append(std::string& out, const Proof& proof) {
  out.append(reinterpret_cast<const char*>(proof.data()), proof.size());
}

}  // namespace

Handshake Handshake::connector(const Identity& identity, Purpose purpose, bool encrypt,
                               const Nonce& nonce) {
  Handshake handshake;
  handshake.identity_ = identity;
  handshake.connects_ = true;
  handshake.hello_ = {.purpose = purpose,
                      .encrypt = encrypt,
                      .job = identity.job,
                      .nonce = nonce,
                      .label = identity.label};
  handshake.hello_bytes_ = encode(handshake.hello_);
  return handshake;
}

Handshake Handshake::listener(const Identity& identity, bool encrypt, const Nonce& nonce) {
  Handshake handshake;
  handshake.identity_ = identity;
  handshake.challenge_ = {.encrypt = encrypt, .nonce = nonce, .label = identity.label};
  handshake.challenge_bytes_ = encode(handshake.challenge_);
  return handshake;
}

Handshake::State Handshake::feed(ByteView& in, std::string& out) {
  if (!heard_) {
    const State state = connects_ ? feed_challenge(in, out) : feed_hello(in, out);
    if (state != State::kDone) return state;
  }
  return feed_proof(in, out);
}

Handshake::State Handshake::feed_hello(ByteView& in, std::string& out) {
  const State state = take(in, hello_, hello_bytes_, heard_);
  if (state != State::kDone) return state;
  if (hello_.job != identity_.job) return State::kStranger;
  out += challenge_bytes_;
  return State::kDone;
}

Handshake::State Handshake::feed_challenge(ByteView& in, std::string& out) {
  const State state = take(in, challenge_, challenge_bytes_, heard_);
  if (state != State::kDone) return state;
  append(out, connector_proof(identity_.secret, hello_bytes_, challenge_bytes_));
  proved_ = true;
  return State::kDone;
}

// The listener proves last, so that a stranger learns nothing that the secret went into.
Handshake::State Handshake::feed_proof(ByteView& in, std::string& out) {
  Proof proof{};
  if (in.size() < proof.size()) return State::kGoing;
  std::memcpy(proof.data(), in.data(), proof.size());
  in = in.subspan(proof.size());
  const Secret& secret = identity_.secret;
  const Proof expected = connects_ ? listener_proof(secret, hello_bytes_, challenge_bytes_)
                                   : connector_proof(secret, hello_bytes_, challenge_bytes_);
  if (!same_proof(proof, expected)) return State::kBadProof;
  if (!connects_) {
    append(out, listener_proof(secret, hello_bytes_, challenge_bytes_));
    proved_ = true;
  }
  return State::kDone;
}

std::unique_ptr<Seal> Handshake::seal(bool from_connector) const {
  return std::make_unique<Seal>(
      identity_.secret, hello_.nonce, challenge_.nonce,
      from_connector ? Direction::kFromConnector : Direction::kFromListener);
}

std::unique_ptr<Seal> Handshake::sender() const { return seal(connects_); }
std::unique_ptr<Seal> Handshake::receiver() const { return seal(!connects_); }

}  // namespace weft::runtime

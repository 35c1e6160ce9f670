// The handshake of a connection as a state machine over bytes: hello, challenge, proof,
// counter-proof.
#pragma once

#include <memory>
#include <string>

#include "runtime/net/frame.h"
#include "runtime/net/seal.h"

namespace weft::runtime {

// Who this side is. Only members of one job that know its secret come to terms.
struct Identity {
  Secret secret;
  std::uint64_t job = 0;
  std::string label;  // at most kMostLabelBytes
};

class Handshake {
 public:
  enum class State {
    kGoing,
    kDone,
    kStranger,  // the other side said something else, or is of another job or version
    kBadProof,  // the other side does not know the secret
  };

  static Handshake connector(const Identity& identity, Purpose purpose, bool encrypt,
                             const Nonce& nonce);
  static Handshake listener(const Identity& identity, bool encrypt, const Nonce& nonce);

  // What this side says first; empty for the listener.
  std::string start() const { return connects_ ? hello_bytes_ : ""; }
  // Takes what it needs from the front of `in` and appends what must be answered to `out`. Bytes
  // behind the end of the handshake are left.
  State feed(ByteView& in, std::string& out);
  // Whether our proof was sent, so that an end of the connection means that it was refused.
  bool proved() const { return proved_; }

  // Of the other side. Requires: kDone.
  const std::string& peer_label() const { return connects_ ? challenge_.label : hello_.label; }
  Purpose purpose() const { return hello_.purpose; }
  bool encrypted() const { return hello_.encrypt || challenge_.encrypt; }
  // Requires: kDone, encrypted().
  std::unique_ptr<Seal> sender() const;
  std::unique_ptr<Seal> receiver() const;

 private:
  State feed_hello(ByteView& in, std::string& out);
  State feed_challenge(ByteView& in, std::string& out);
  State feed_proof(ByteView& in, std::string& out);
  std::unique_ptr<Seal> seal(bool from_connector) const;

  Identity identity_;
  bool connects_ = false, proved_ = false;
  bool heard_ = false;  // the hello or the challenge of the other side
  Hello hello_;
  Challenge challenge_;
  std::string hello_bytes_, challenge_bytes_;
};

}  // namespace weft::runtime

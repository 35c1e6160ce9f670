// What transports between hosts have in common, mirrored by tcp/ and ucx/: a member is reached by
// an address that it publishes, and the way to it may fail.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/net/secret.h"
#include "runtime/transport.h"

namespace weft::runtime {

struct WireSettings {
  MemberId self = 0;
  Secret secret = {};
  std::uint64_t job = 0;
  // Most bytes that wait for the way to a member: what is urgent waits behind no more than that.
  std::size_t credit_bytes = 4 << 20;
  // What address() gave on a member, or nothing when it is not known. From any thread.
  std::function<std::optional<std::string>(MemberId)> address_of = nullptr;
  // The way to a member failed or never was; its messages go nowhere from now on. Confirmed: its
  // host says that its end is gone, so it is not the way to it that failed. Called once for each
  // member, on the reactor's thread, and not for those that were forgotten.
  std::function<void(MemberId, const std::string& reason, bool confirmed)> on_peer_lost = nullptr;
};

class WireTransport : public Transport {
 public:
  static constexpr std::size_t kMaxMessage = 1 << 20;

  // By which others reach this member: a text for their address_of().
  virtual std::string address() const = 0;
  // Whether everything that was posted to members that live is on its way, whatever becomes of this
  // process.
  virtual bool idle() = 0;
  // Tells all that it is connected with that its end is no loss to them. Nothing is posted to them
  // afterwards.
  virtual void part() = 0;
  // Connects anew to a member that was lost, when it is needed.
  virtual void welcome(MemberId member) = 0;
};

}  // namespace weft::runtime

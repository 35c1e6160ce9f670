// How messages travel between members of a job. One interface, mirrored by shm/ (processes of one
// host) and tcp/ (hosts). A transport moves whole messages of bounded size, in any order, and knows
// nothing of collectives; it never blocks.
//
// Threads: one caller at a time (the engine's lock); implementations may have threads of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/call.h"

namespace weft::runtime {

// A process of the job, for its whole life. Ranks are places in a group and may change; members do
// not, and no number is given twice.
using MemberId = std::uint32_t;

// Whom a message is for: the operation, and which part of it. 64 bytes on every wire, in this
// order, little-endian.
struct Header {
  std::uint32_t group = 0;     // 0: all members; others: sub-groups
  std::uint32_t epoch = 0;     // of the group; messages of another epoch are dropped
  std::uint32_t stream = 0;    // operations of one stream are matched in order
  std::uint32_t sequence = 0;  // of the operation in its stream
  std::uint32_t slice = 0;     // of the operation's data
  std::uint32_t index = 0;     // n-th message from this sender to this receiver on this lane
  std::uint16_t lane = 0;      // stream of the schedule; kAgreementLane: comparing calls
  std::uint16_t from = 0;      // rank of the sender in the group
  std::uint32_t bytes = 0;     // of the payload
  Call call = {};
  std::uint32_t own_us = 0;  // what the sender computed so far (record/slow.h), modulo 2^32; not 0
  std::uint32_t spare[3] = {};

  bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == 64);
inline constexpr std::uint16_t kAgreementLane = 0xffff;

// An arrived message. The payload stays readable until release().
struct Message {
  MemberId from = 0;
  Header header = {};
  const std::byte* payload = nullptr;
  std::uint64_t token = 0;  // the transport's own
};

// Where a message is to be written.
struct Room {
  std::byte* at = nullptr;  // nullptr: there is none
  bool around = false;      // around the caches is cheaper (copy_bytes())
};

// Counted once per member pair, for reports and the recorder.
struct TransportCounts {
  std::uint64_t messages_sent = 0, messages_received = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::uint64_t connections = 0;  // that are open now
};

class Transport {
 public:
  virtual ~Transport() = default;

  // The largest payload of one message. Cost: O(1).
  virtual std::size_t max_message() const = 0;
  virtual bool reaches(MemberId member) const = 0;

  // Memory for a message of `bytes` to all of `to`, or none while there is no room; the doorbell
  // rings when there may be. What is reserved must be posted before the next is reserved.
  // `spare_caches`: others of the caller's data should stay in them.
  // Requires: bytes <= max_message(); each of `to` is reached; `to` is not empty.
  virtual Room reserve(std::span<const MemberId> to, std::size_t bytes, bool spare_caches) = 0;
  // Sends what stands in `room`. Requires: `room` came from reserve() with the same `to` and
  // header.bytes bytes. Messages to a member that died go nowhere.
  virtual void post(std::byte* room, std::span<const MemberId> to, const Header& header) = 0;

  // Takes an arrived message, if there is one. Ensures: header.bytes <= max_message().
  virtual bool poll(Message& message) = 0;
  // Requires: `message` came from poll() and was not released before.
  virtual void release(const Message& message) = 0;

  // Forgets a member that left or died: its memory and connections are given back, its messages
  // dropped. Messages polled before stay readable until released.
  virtual void forget(MemberId member) = 0;

  virtual TransportCounts counts() const = 0;
};

}  // namespace weft::runtime

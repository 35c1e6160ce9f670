// Requests to the rendezvous store and its answers as bodies of frames (docs/wire.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/net/bytes.h"
#include "runtime/net/store.h"

namespace weft::runtime {

enum class StoreRequestKind : std::uint16_t {
  kSet = 1,
  kGet,  // answered when the key exists
  kLook,
  kAdd,
  kSwap,
  kRemove,
};
inline constexpr std::uint16_t kStoreAnswer = 16;

struct StoreRequest {
  StoreRequestKind kind = StoreRequestKind::kLook;
  std::uint32_t id = 0;  // comes back with the answer
  std::string key = {};
  std::string value = {};     // set, swap
  std::string expected = {};  // swap
  std::int64_t amount = 0;    // add

  bool operator==(const StoreRequest&) const = default;
};

enum class StoreOutcome : std::uint8_t { kDone, kNotFound, kRefused };

struct StoreAnswer {
  std::uint32_t id = 0;
  StoreOutcome outcome = StoreOutcome::kDone;
  std::string text;  // the value; or why it was refused

  bool operator==(const StoreAnswer&) const = default;
};

inline constexpr std::size_t kMostStoreFrameBytes = 2 * kMostValueBytes + kMostKeyBytes + 64;

// Requires: the limits of net/store.h are kept.
std::string encode(const StoreRequest& request);
std::string encode(const StoreAnswer& answer);
// Nothing when the bytes are not exactly one request or answer within the limits.
std::optional<StoreRequest> decode_store_request(std::uint16_t kind, ByteView body);
std::optional<StoreAnswer> decode_store_answer(ByteView body);

}  // namespace weft::runtime

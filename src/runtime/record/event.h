// What the recorder of a rank writes down: one event, and the file of many (docs/recorder.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/net/bytes.h"

namespace weft::runtime {

enum class EventKind : std::uint8_t {
  kStep,          // the user says that step `sequence` begins, and the one before is over
  kComputeBegin,  // the user's own marks
  kComputeEnd,
  kSubmitted,  // the operation was handed in
  kBegun,      // all ranks' calls were compared; data moves
  kEnded,
  kFailed,
  kWaitBegin,  // a thread waits for the operation
  kWaitEnd,
};
inline constexpr int kEventKinds = 9;
std::string_view name_of(EventKind kind);

// 40 bytes in files, in this order, little-endian, without padding.
struct Event {
  std::int64_t time_ns = 0;                                      // CLOCK_MONOTONIC
  std::uint64_t bytes = 0;                                       // of this rank's part of the call
  std::uint32_t group = 0, epoch = 0, stream = 0, sequence = 0;  // of the operation
  std::uint32_t thread = 0;                                      // as the kernel numbers it
  EventKind kind = EventKind::kStep;
  std::uint8_t operation = 0;  // runtime/call.h
  std::uint16_t spare = 0;

  bool operator==(const Event&) const = default;
};
static_assert(sizeof(Event) == 40);

struct Recording {
  std::uint32_t rank = 0, ranks = 1, member = 0;
  std::uint64_t job = 0;
  std::uint64_t recorded = 0;        // events ever; those before the last events.size() are gone
  std::int64_t clock_offset_ns = 0;  // added to time_ns it gives the time of day, to compare hosts
  std::vector<Event> events;         // in order of recording

  bool operator==(const Recording&) const = default;
};

inline constexpr std::uint32_t kRecordingVersion = 1;
inline constexpr std::size_t kRecordingHeaderBytes = 64;
inline constexpr std::uint64_t kMostEvents = 1 << 24;
inline constexpr std::uint64_t kMostRecordingBytes =
    kRecordingHeaderBytes + kMostEvents * sizeof(Event);

std::string encode(const Recording& recording);
// From a file: every field is checked. The error names the first that is wrong.
Result<Recording> decode_recording(ByteView bytes);

}  // namespace weft::runtime

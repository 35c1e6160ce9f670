#include "runtime/record/event.h"

#include <fmt/core.h>

#include "runtime/call.h"

namespace weft::runtime {
namespace {

constexpr std::string_view kRecordingMagic("WEFTREC\n", 8);

Error wrong(std::string what) {
  return {ErrorKind::kInvalidInput, std::move(what), "is it a file that WEFT_RECORD named?"};
}

Status check(const Event& event, std::size_t index) {
  if (static_cast<int>(event.kind) >= kEventKinds) {
    return wrong(fmt::format("event {} is of kind {}; there are 0 .. {}", index,
                             static_cast<int>(event.kind), kEventKinds - 1));
  }
  if (event.operation >= kOperations) {
    return wrong(fmt::format("event {} is of operation {}; there are 0 .. {}", index,
                             event.operation, kOperations - 1));
  }
  if (event.time_ns < 0) {
    return wrong(
        fmt::format("event {} happened at {} ns; times are not negative", index, event.time_ns));
  }
  if (event.spare != 0) return wrong(fmt::format("event {} has its spare bytes set", index));
  return {};
}

}  // namespace

std::string_view name_of(EventKind kind) {
  constexpr std::string_view kNames[] = {"step",      "compute-begin", "compute-end",
                                         "submitted", "begun",         "ended",
                                         "failed",    "wait-begin",    "wait-end"};
  static_assert(std::size(kNames) == kEventKinds);
  return kNames[static_cast<std::size_t>(kind)];
}

std::string encode(const Recording& recording) {
  ByteWriter out;
  out.put_bytes(kRecordingMagic);
  out.put(kRecordingVersion);
  out.put(static_cast<std::uint32_t>(sizeof(Event)));
  out.put(recording.rank);
  out.put(recording.ranks);
  out.put(recording.member);
  out.put(std::uint32_t{0});
  out.put(recording.job);
  out.put(recording.recorded);
  out.put(static_cast<std::uint64_t>(recording.events.size()));
  out.put(recording.clock_offset_ns);
  const auto bytes = std::as_bytes(std::span(recording.events));
  out.put_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return out.take();
}

Result<Recording> decode_recording(ByteView bytes) {
  ByteReader in(bytes);
  if (in.get_text(kRecordingMagic.size()) != kRecordingMagic)
    return wrong("it does not begin as a recording does");
  const auto version = in.get<std::uint32_t>();
  const auto width = in.get<std::uint32_t>();
  Recording recording;
  recording.rank = in.get<std::uint32_t>();
  recording.ranks = in.get<std::uint32_t>();
  recording.member = in.get<std::uint32_t>();
  const auto spare = in.get<std::uint32_t>();
  recording.job = in.get<std::uint64_t>();
  recording.recorded = in.get<std::uint64_t>();
  const auto count = in.get<std::uint64_t>();
  recording.clock_offset_ns = in.get<std::int64_t>();
  if (!in.ok()) {
    return wrong(fmt::format("it has {} bytes; the header alone has {}", bytes.size(),
                             kRecordingHeaderBytes));
  }
  if (version != kRecordingVersion || width != sizeof(Event) || spare != 0) {
    return wrong(
        fmt::format("its version is {} with {} bytes an event; this program reads {} with "
                    "{}",
                    version, width, kRecordingVersion, sizeof(Event)));
  }
  if (recording.ranks == 0 || recording.rank >= recording.ranks) {
    return wrong(fmt::format("it is of rank {} of {}", recording.rank, recording.ranks));
  }
  if (count > kMostEvents || count > recording.recorded || in.left() != count * sizeof(Event)) {
    return wrong(fmt::format("it names {} events of {} recorded, but holds {} bytes of them", count,
                             recording.recorded, in.left()));
  }
  recording.events.resize(count);
  if (count > 0) {
    std::memcpy(static_cast<void*>(recording.events.data()), bytes.data() + kRecordingHeaderBytes,
                count * sizeof(Event));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Status status = check(recording.events[i], i);
    if (!status.ok()) return status.error();
  }
  return recording;
}

}  // namespace weft::runtime

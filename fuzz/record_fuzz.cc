// Whatever the bytes are, reading them as a recording gives one that can be summed up, or an error.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "runtime/record/summary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft::runtime;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto recording = decode_recording(bytes);
  if (!recording.ok()) {
    CHECK(!recording.error().what.empty());
    return 0;
  }
  const std::string again = encode(*recording);
  CHECK(again.size() == size && std::equal(again.begin(), again.end(), data, [](char a, uint8_t b) {
          return static_cast<uint8_t>(a) == b;
        }));
  const JobSummary job = summarize({*recording, *recording});
  for (const RankSummary& rank : job.ranks) CHECK(std::isfinite(rank.span_s) && rank.span_s >= 0);
  CHECK(!perfetto_json({*recording}).empty());
  return 0;
}

// Whatever the bytes are, reading them as a pipeline's recording gives proved steps or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "pipeline/recording.h"
#include "pipeline/what_if.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft::pipeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto recording = parse_recording(text);
  if (!recording.ok()) {
    CHECK(!recording.error().what.empty());
    return 0;
  }
  // What is done with a recording must be safe without further checks.
  const Causes causes = find_causes(*recording);
  CHECK(causes.replayed_s >= 0 && !causes.causes.empty());
  const auto again = parse_recording(write_recordings({*recording}));
  CHECK(again.ok() && again->steps.size() == recording->steps.size());
  return 0;
}

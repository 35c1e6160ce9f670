// Whatever the bytes are, reading them as a pipeline's schedule gives a proved one or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "pipeline/schedule_json.h"
#include "pipeline/solve.h"
#include "pipeline/transforms.h"
#include "pipeline/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft::pipeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto schedule = parse_schedule(text);
  if (!schedule.ok()) {
    CHECK(!schedule.error().what.empty());
    return 0;
  }
  // What is done with a proved schedule must be safe without further checks.
  const auto timeline = solve(*schedule);
  CHECK(timeline.ok() && timeline->makespan >= 0);
  if (!schedule->listed_transfers) CHECK(verify(with_listed_transfers(*schedule)).ok());
  const auto again = parse_schedule(write_schedule(*schedule));
  CHECK(again.ok() && *again == *schedule);
  return 0;
}

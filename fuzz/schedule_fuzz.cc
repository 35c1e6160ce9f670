// Whatever the bytes are, reading them as a collective's schedule gives a proved one or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "collective/cursor.h"
#include "collective/phases.h"
#include "collective/schedule_json.h"

namespace {

using namespace weft::collective;

// What executors and the timing do with a proved schedule must be safe without further checks.
void use(const Schedule& schedule) {
  std::vector<Flow> flows;
  for (int s = 0; s < schedule.streams() && schedule.lockstep; ++s) {
    const StreamPhases stream(schedule, s);
    for (const Phase& phase : stream.phases()) stream.add_flows(phase, phase.repeat - 1, flows);
  }
  for (const Flow& flow : flows) {
    CHECK(flow.from >= 0 && flow.to >= 0 && flow.from != flow.to);
    CHECK(flow.from < schedule.endpoints() && flow.to < schedule.endpoints());
    CHECK(flow.fraction >= 0);
  }
  for (const Program& program : schedule.programs) {
    for (const auto& stream : program.streams) {
      for (Cursor cursor(stream); !cursor.done(); cursor.next()) CHECK(cursor.number() < 1 << 20);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto schedule =
      parse_schedule(text, {.exact = true, .max_work = 1 << 20, .max_cells = 1 << 16});
  if (!schedule.ok()) {
    CHECK(!schedule.error().what.empty());
    return 0;
  }
  use(*schedule);
  const auto again = parse_schedule(write_schedule(*schedule));
  CHECK(again.ok() && *again == *schedule);
  return 0;
}

#include "collective/verify.h"

#include <fmt/core.h>

#include "collective/machine.h"

namespace weft::collective {
namespace {

constexpr std::int64_t kFull = std::numeric_limits<std::int64_t>::max();

// A stream of an endpoint takes the memory of so many cells.
constexpr std::int64_t kCellsOfALane = 8;

std::int64_t plus(std::int64_t a, std::int64_t b) { return a > kFull - b ? kFull : a + b; }
std::int64_t times(std::int64_t a, std::int64_t b) {
  return a != 0 && b > kFull / a ? kFull : a * b;
}

Status one_pass(const Schedule& schedule, const Tracking& tracking) {
  Machine machine(schedule, tracking);
  if (Status status = machine.run(); !status.ok()) return status;
  return machine.check_outputs();
}

}  // namespace

std::int64_t cells_of(const Schedule& schedule) {
  std::int64_t total = 0;
  for (int e = 0; e < schedule.endpoints(); ++e) {
    total = plus(total, cells_in(schedule, e, Buffer::kOutput));
    total = plus(total, cells_in(schedule, e, Buffer::kScratch));
    total = plus(total, kCellsOfALane * schedule.streams());
  }
  return total;
}

std::int64_t work_of(const Schedule& schedule) {
  std::int64_t total = cells_of(schedule);
  for (const Program& program : schedule.programs) {
    for (const auto& stream : program.streams) {
      for (const Round& round : stream) {
        std::int64_t each = 1;
        for (const Op& op : round.ops) {
          each = plus(each, 1 + std::int64_t{op.source.count} + op.target.count);
        }
        total = plus(total, times(round.repeat, each));
      }
    }
  }
  return total;
}

Status verify(const Schedule& schedule, const VerifyOptions& options) {
  if (Status status = check_shape(schedule); !status.ok()) return status;
  const bool bits =
      options.exact || schedule.ranks <= 64 || schedule.operation == Operation::kBarrier;
  const std::int64_t passes = bits ? (schedule.ranks + 63) / 64 : 1;
  const std::int64_t work = times(work_of(schedule), passes);
  const std::int64_t cells = cells_of(schedule);
  if (work > options.max_work || cells > options.max_cells) {
    return Error{ErrorKind::kUnsupported,
                 fmt::format("the schedule takes {} steps and {} cells to verify; the limits are "
                             "{} and {}",
                             work, cells, options.max_work, options.max_cells),
                 "use fewer ranks, chunks or rounds"};
  }
  if (!bits) return one_pass(schedule, Tracking::sums(schedule.ranks));
  for (int first = 0; first < schedule.ranks; first += 64) {
    const Status status = one_pass(schedule, Tracking::bits(schedule.ranks, first));
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace weft::collective

#include "collective/pair_weights.h"

#include <algorithm>
#include <numeric>

#include "collective/builder.h"

namespace weft::collective {

Schedule make_all_to_all(const char* algorithm, const Request& request) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllToAll, algorithm, p, p * p);
  schedule.chunks.list = request.pair_weights;
  schedule.whole = static_cast<std::uint64_t>(p);
  if (schedule.chunks.list.empty()) return schedule;
  schedule.whole = 1;
  for (auto row = schedule.chunks.list.begin(); row != schedule.chunks.list.end(); row += p) {
    schedule.whole = std::max(schedule.whole, std::accumulate(row, row + p, std::uint64_t{0}));
  }
  return schedule;
}

std::uint64_t heaviest(const Schedule& schedule) {
  const auto& list = schedule.chunks.list;
  return list.empty() ? schedule.chunks.each : *std::max_element(list.begin(), list.end());
}

}  // namespace weft::collective

#include "pipeline/slots.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pipeline/builder.h"

namespace weft::pipeline {

void fill_slots(Schedule& s, int unit) {
  const int routes = static_cast<int>(s.routes.size());
  const int period = 2 * unit * s.chunks / s.devices;  // passes of a unit on a device
  std::vector<std::vector<std::pair<int, Op>>> slots(s.programs.size());
  for (int m = 0; m < s.micro_batches; ++m) {
    const int first = m / unit * period + 2 * (m % unit / routes);
    for (int c = 0; c < s.chunks; ++c) {
      Op op;
      op.work = {m, c};
      auto& list = slots[static_cast<std::size_t>(s.device(op.work))];
      list.push_back({first + c, op});
      op.kind = Kind::kBackward;
      list.push_back({first + 2 * s.chunks - 1 - c, op});
    }
  }
  for (std::size_t d = 0; d < slots.size(); ++d) {
    std::stable_sort(slots[d].begin(), slots[d].end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& slot : slots[d]) s.programs[d].push_back(slot.second);
  }
}

}  // namespace weft::pipeline

#include <numeric>

#include "collective/builder.h"
#include "collective/generators.h"

namespace weft::collective {
namespace {

// Steps that visit every rank before they come back: 1, -1, then the other numbers without a common
// factor with p, each followed by its reverse; over again if there are not enough.
std::vector<int> strides(int p, int count) {
  std::vector<int> found;
  for (int q = 1; 2 * q <= p || q == 1; ++q) {
    if (std::gcd(q, p) != 1) continue;
    found.push_back(q);
    if (2 * q != p && p > 2) found.push_back(p - q);
  }
  std::vector<int> result;
  for (int s = 0; s < count; ++s) {
    result.push_back(found[static_cast<std::size_t>(s) % found.size()]);
  }
  return result;
}

Schedule rings(const Request& request, const char* name, int count) {
  const int p = request.ranks;
  Schedule schedule = make_schedule(Operation::kAllReduce, name, p, p * count, count);
  schedule.in_place = true;
  const std::vector<int> steps = strides(p, count);
  for (int s = 0; s < count; ++s) {
    const int step = steps[static_cast<std::size_t>(s)];
    for (int place = 0, r = 0; place < p; ++place, r = (r + step) % p) {
      const Circle circle{.size = p,
                          .place = place,
                          .next = (r + step) % p,
                          .prev = (r + p - step % p) % p,
                          .base = s * p};
      Rounds& rounds =
          schedule.programs[static_cast<std::size_t>(r)].streams[static_cast<std::size_t>(s)];
      ring_reduce_scatter(circle, Buffer::kInput, Buffer::kOutput, rounds);
      ring_all_gather(circle, Buffer::kOutput, rounds);
    }
  }
  if (p == 1) schedule.programs[0].streams[0] = alone(count);
  return schedule;
}

}  // namespace

Schedule multi_ring_all_reduce(const Request& request) {
  return rings(request, "multi-ring", request.rings);
}

Schedule bidirectional_ring_all_reduce(const Request& request) {
  return rings(request, "bidirectional-ring", 2);
}

}  // namespace weft::collective

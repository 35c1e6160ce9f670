#include "planner/front.h"

#include <algorithm>
#include <tuple>

namespace weft::planner {
namespace {

constexpr double kHour = 3600;

bool beats(const FrontPoint& a, const FrontPoint& b) {
  const bool no_worse = a.seconds_per_sample <= b.seconds_per_sample &&
                        a.memory_bytes <= b.memory_bytes && a.cost_per_sample <= b.cost_per_sample;
  return no_worse && (a.seconds_per_sample < b.seconds_per_sample ||
                      a.memory_bytes < b.memory_bytes || a.cost_per_sample < b.cost_per_sample);
}

}  // namespace

double Offer::cost(Seconds seconds) const {
  const double price = machines.device.price_per_hour;
  return devices * seconds / kHour * (price > 0 ? price : 1);
}

std::vector<FrontPoint> front_of(const std::vector<Offer>& offers) {
  std::vector<FrontPoint> all, front;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    for (const Candidate& one : offers[i].answer.pareto) {
      all.push_back({i, &one, seconds_per_sample(one), one.memory.total(),
                     offers[i].cost(seconds_per_sample(one))});
    }
  }
  for (const FrontPoint& one : all) {
    const bool beaten =
        std::any_of(all.begin(), all.end(), [&](const FrontPoint& o) { return beats(o, one); });
    if (!beaten) front.push_back(one);
  }
  std::stable_sort(front.begin(), front.end(), [](const FrontPoint& a, const FrontPoint& b) {
    return std::tie(a.seconds_per_sample, a.memory_bytes) <
           std::tie(b.seconds_per_sample, b.memory_bytes);
  });
  return front;
}

}  // namespace weft::planner

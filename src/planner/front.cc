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
    const SearchAnswer& answer = offers[i].answer;
    for (const std::vector<Candidate>* list : {&answer.pareto, &answer.ranked}) {
      for (const Candidate& one : *list) {
        all.push_back({i, &one, seconds_per_sample(one), one.memory.total(),
                       offers[i].cost(seconds_per_sample(one))});
      }
    }
  }
  for (const FrontPoint& one : all) {
    const bool beaten =
        std::any_of(all.begin(), all.end(), [&](const FrontPoint& o) { return beats(o, one); });
    // A layout that is ranked and in its offer's front as well counts once.
    const auto same = [&](const FrontPoint& o) {
      return o.seconds_per_sample == one.seconds_per_sample && o.memory_bytes == one.memory_bytes &&
             o.cost_per_sample == one.cost_per_sample;
    };
    if (!beaten && std::none_of(front.begin(), front.end(), same)) front.push_back(one);
  }
  std::stable_sort(front.begin(), front.end(), [](const FrontPoint& a, const FrontPoint& b) {
    return std::tie(a.seconds_per_sample, a.memory_bytes) <
           std::tie(b.seconds_per_sample, b.memory_bytes);
  });
  return front;
}

}  // namespace weft::planner

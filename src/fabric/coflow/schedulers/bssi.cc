#include "fabric/coflow/schedulers/bssi.h"

#include <algorithm>

#include "base/units.h"

namespace weft {
namespace {

double load_on(const Bundle& bundle, std::uint32_t link) {
  for (std::size_t k = 0; k < bundle.links.size(); ++k) {
    if (bundle.links[k] == link) return bundle.link_left[k];
  }
  return 0;
}

}  // namespace

void bssi_order(std::vector<Bundle*>& order) {
  std::vector<double> sums;
  for (const Bundle* b : order) {
    for (std::size_t k = 0; k < b->links.size(); ++k) {
      if (b->links[k] >= sums.size()) sums.resize(b->links[k] + std::size_t{1});
      sums[b->links[k]] += b->link_left[k];
    }
  }
  // By arrival first, so that ties do not depend on the last order.
  std::sort(order.begin(), order.end(), [](const Bundle* a, const Bundle* b) {
    return std::pair(a->coflow, !a->pilot) < std::pair(b->coflow, !b->pilot);
  });
  std::vector<double> weight(order.size(), 1);
  for (std::size_t last = order.size(); last > 1; --last) {
    const auto busiest =
        static_cast<std::uint32_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
    std::size_t chosen = 0;
    double chosen_ratio = kNever, chosen_load = 0;
    std::vector<double> loads(last);
    for (std::size_t i = 0; i < last; ++i) {
      loads[i] = load_on(*order[i], busiest);
      const double ratio = loads[i] > 0 ? weight[i] / loads[i] : kNever;
      if (ratio <= chosen_ratio) {
        chosen = i;
        chosen_ratio = ratio;
        chosen_load = loads[i];
      }
    }
    for (std::size_t i = 0; i < last && chosen_load > 0; ++i) {
      weight[i] = std::max(0.0, weight[i] - chosen_ratio * loads[i]);
    }
    const Bundle& out = *order[chosen];
    for (std::size_t k = 0; k < out.links.size(); ++k) sums[out.links[k]] -= out.link_left[k];
    std::rotate(order.begin() + chosen, order.begin() + chosen + 1, order.begin() + last);
    std::rotate(weight.begin() + chosen, weight.begin() + chosen + 1, weight.begin() + last);
  }
}

}  // namespace weft

// Schedulers that are a key: the coflow with the least key goes first, the older one among equals.
#pragma once

#include <algorithm>
#include <utility>

#include "fabric/coflow/scheduler.h"

namespace weft {

// Sorts the order by (key, coflow); a pilot stands before its coflow.
template <typename Key>
void order_by(CoflowPlan& plan, Key&& key) {
  std::vector<std::pair<double, Bundle*>> keyed;
  keyed.reserve(plan.order.size());
  for (Bundle* bundle : plan.order) keyed.emplace_back(key(*bundle), bundle);
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second->coflow) < std::pair(b.first, b.second->coflow);
  });
  for (std::size_t i = 0; i < keyed.size(); ++i) plan.order[i] = keyed[i].second;
}

std::unique_ptr<CoflowScheduler> make_fifo();
std::unique_ptr<CoflowScheduler> make_sebf();
std::unique_ptr<CoflowScheduler> make_sebf_remaining();
std::unique_ptr<CoflowScheduler> make_scf();
std::unique_ptr<CoflowScheduler> make_lcf();
std::unique_ptr<CoflowScheduler> make_ncf();
std::unique_ptr<CoflowScheduler> make_aalo();
std::unique_ptr<CoflowScheduler> make_sincronia();
std::unique_ptr<CoflowScheduler> make_philae();
std::unique_ptr<CoflowScheduler> make_edf();
std::unique_ptr<CoflowScheduler> make_weft();

}  // namespace weft

#include "control/history.h"

namespace weft {

Estimate History::estimate(const Submission& s) const {
  const auto like = like_.find({{s.tenant, s.model}, s.requested().devices});
  if (like != like_.end()) {
    return {like->second.sum / static_cast<double>(like->second.count), EstimateSource::kHistory};
  }
  const auto tenant = tenant_.find(s.tenant);
  if (tenant != tenant_.end()) {
    return {tenant->second.sum / static_cast<double>(tenant->second.count),
            EstimateSource::kHistory};
  }
  if (all_.count > 0) {
    return {all_.sum / static_cast<double>(all_.count), EstimateSource::kHistory};
  }
  return {};
}

void History::ended(const Submission& s, Seconds run_time) {
  for (Mean* mean :
       {&like_[{{s.tenant, s.model}, s.requested().devices}], &tenant_[s.tenant], &all_}) {
    mean->sum += run_time;
    ++mean->count;
  }
}

}  // namespace weft

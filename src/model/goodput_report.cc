#include "model/goodput_report.h"

#include <algorithm>

namespace weft {
namespace {

bool feeds(const BatchLimits& limits, int replicas) {
  return limits.local_min * replicas <= limits.largest;
}

}  // namespace

std::optional<double> believed_goodput(const GoodputReport& report, TypeId type, Gang gang) {
  const GoodputReport::OnType& here = report.on_types[type];
  if (!report.noise) return std::nullopt;
  if (here.one_replica_rate <= 0 || !feeds(here.limits, gang.replicas)) return 0.0;
  if (here.model) return best_batch(*here.model, *report.noise, gang, here.limits).goodput;
  for (const GoodputReport::OnType& there : report.on_types) {
    if (!there.model || there.one_replica_rate <= 0) continue;
    const Gang alike{(gang.replicas + there.node_devices - 1) / there.node_devices, gang.replicas};
    return best_batch(*there.model, *report.noise, alike, there.limits).goodput *
           here.one_replica_rate / there.one_replica_rate;
  }
  return std::nullopt;
}

std::optional<double> pooled_goodput(const GoodputReport& report, Gang gang) {
  if (!report.noise || !report.pooled || report.on_types.empty()) return std::nullopt;
  const BatchLimits& limits = report.on_types.front().limits;
  if (!feeds(limits, gang.replicas)) return 0.0;
  return best_batch(*report.pooled, *report.noise, gang, limits).goodput;
}

int replicas_limit(const GoodputReport& report) {
  int limit = 1;
  for (const GoodputReport::OnType& here : report.on_types) {
    const int fed = here.limits.largest / std::max(here.limits.local_min, 1);
    limit = std::max(limit, std::min(2 * here.most_replicas, fed));
  }
  return limit;
}

}  // namespace weft

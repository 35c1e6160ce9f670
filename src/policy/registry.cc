#include <fmt/ranges.h>

#include "policy/composition.h"
#include "policy/policies/policies.h"

namespace weft {

const std::vector<Composition>& known_policies() {
  static const std::vector<Composition> all = {
      policies::fifo(),
      policies::backfill(),
      policies::sjf(),
      policies::srtf(),
      policies::las(),
      policies::two_d_las(),
      policies::priority(),
      policies::gittins(),
      policies::drf(),
      policies::quota(),
      policies::edf(),
      policies::elasticflow(),
      policies::min_energy(),
      policies::themis(),
      policies::shockwave(),
      policies::allox(),
      policies::max_min(),
      policies::max_min_agnostic(),
      policies::max_min_packed(),
      policies::finish_time_fair(),
      policies::finish_time_fair_agnostic(),
      policies::makespan(),
      policies::makespan_agnostic(),
      policies::max_throughput(),
      policies::max_throughput_agnostic(),
      policies::min_cost(),
      policies::min_cost_agnostic(),
      policies::min_cost_deadline(),
      policies::min_cost_deadline_agnostic(),
      policies::optimus(),
      policies::afs(),
      policies::pollux(),
      policies::sia(),
      policies::lucid(),
      policies::fgd(),
      policies::hived(),
      policies::spot_mix(),
      policies::muri(),
      policies::gandiva(),
      policies::synergy(),
  };
  return all;
}

Result<Composition> find_policy(const std::string& name) {
  std::vector<std::string> names;
  for (const Composition& composition : known_policies()) {
    if (composition.name == name) return composition;
    names.push_back(composition.name);
  }
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return read_composition(name);
  const std::string close = near_miss(name, names);
  return Error{ErrorKind::kInvalidInput,
               fmt::format("unknown policy '{}'; known: {}", name, fmt::join(names, ", ")),
               close.empty() ? "or give the path of a .yaml composition (docs/policies.md)"
                             : fmt::format("did you mean '{}'?", close)};
}

}  // namespace weft

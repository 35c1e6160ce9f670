#include <fmt/ranges.h>

#include "fabric/coflow/schedulers/keyed.h"

namespace weft {

const std::vector<CoflowPolicy>& coflow_policies() {
  static const std::vector<CoflowPolicy> kPolicies = {
      {"fair", "every flow for itself: max-min over all flows", "baseline", nullptr},
      {"fifo", "first come, first served; MADD and backfill", "Varys, SIGCOMM 2014", make_fifo},
      {"sebf", "smallest bottleneck on arrival first; MADD and backfill", "Varys, SIGCOMM 2014",
       make_sebf},
      {"sebf-remaining", "smallest bottleneck of what is left first; MADD and backfill",
       "Varys, SIGCOMM 2014", make_sebf_remaining},
      {"scf", "shortest largest flow first", "Varys, SIGCOMM 2014", make_scf},
      {"lcf", "least bytes in all first", "Varys, SIGCOMM 2014", make_lcf},
      {"ncf", "narrowest first: fewest of its sources or targets", "Varys, SIGCOMM 2014", make_ncf},
      {"aalo", "sizes unknown: 10 queues by bytes sent, 10 MiB and x10", "Aalo, SIGCOMM 2015",
       make_aalo},
      {"sincronia", "primal-dual order (BSSI), max-min inside a coflow", "Sincronia, SIGCOMM 2018",
       make_sincronia},
      {"philae", "sizes unknown: learned from 1 % of the flows, sent ahead", "Philae, ATC 2019",
       make_philae},
      {"edf", "lets in only what meets its deadline, at a constant rate", "Varys, SIGCOMM 2014",
       make_edf},
      {"weft", "order searched for the least sum of ends; flows weighted by bytes left", "our own",
       make_weft},
  };
  return kPolicies;
}

Result<const CoflowPolicy*> find_coflow_policy(const std::string& name) {
  std::vector<std::string> names;
  std::string known;  // not fmt::join(), of whose parser g++ 12 says falsely that it overflows
  for (const CoflowPolicy& policy : coflow_policies()) {
    if (policy.name == name) return &policy;
    names.push_back(policy.name);
    known += (known.empty() ? "known: " : ", ") + names.back();
  }
  const std::string near = near_miss(name, names);
  return Error{ErrorKind::kNotFound, fmt::format("unknown coflow policy '{}'", name),
               near.empty() ? known : fmt::format("did you mean '{}'? {}", near, known)};
}

}  // namespace weft

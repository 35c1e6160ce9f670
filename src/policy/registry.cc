#include <fmt/format.h>

#include "policy/composition.h"
#include "policy/policies/policies.h"

namespace weft {

const std::vector<Composition>& known_policies() {
  static const std::vector<Composition> all = {
      policies::fifo(), policies::backfill(),  policies::sjf(),      policies::srtf(),
      policies::las(),  policies::two_d_las(), policies::priority(),
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

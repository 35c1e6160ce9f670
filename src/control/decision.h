// What one decision changed: enough to do it again without the policy.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "policy/draft.h"

namespace weft {

struct Decision {
  // Jobs it touched, each once, in order of the first touch: what each should hold; empty: nothing.
  std::vector<std::pair<JobId, Allocation>> held;
  std::vector<std::pair<JobId, std::string>> rejected;
  Seconds wake = kNever;
  bool operator==(const Decision&) const = default;
};

// Of a draft that a policy has just written.
Decision decision_of(const Draft& draft);

// Makes the draft's state what it was after the decision. Fails, naming the job and what does not
// fit, if the state is not the one the decision was made in; the state is then spoilt.
Status apply(const Decision& decision, Draft& draft);

}  // namespace weft

// Guaranteed shares of queues, as an operator writes them: the settings of the quota policy, which
// knows queues by number.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "live/daemon/board.h"

namespace weft::live {

struct QueueQuotas {
  std::vector<std::string> queues;  // by number
  std::string policy;               // a composition, as YAML
};

// From YAML: `queues: {research: {share: 3, cohort: labs}, serving: {share: 1}}`. The error names
// every mistake with its line.
Result<QueueQuotas> parse_quotas(const std::string& yaml, const std::string& path);

// The journal must know the queues by the same numbers.
Status check_numbers(const std::vector<std::string>& queues, const Board& board);

}  // namespace weft::live

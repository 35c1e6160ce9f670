// The table that compares runs, and the sentence below it.
#pragma once

#include <string>
#include <vector>

#include "base/table.h"
#include "sim_output.h"

namespace weft {

// One row per group; the first is the baseline. What concerns no run (use of links, rejected jobs)
// has no column. Requires: at least one group.
Table comparison_table(const std::vector<RunGroup>& groups);

// The same for people: within kPageColumns, as far as leaving out columns suffices; policies that
// use estimates marked; notes on both, and the verdict as its last line.
std::string comparison_page(const std::vector<RunGroup>& groups);

// "2d-las beats fifo: mean JCT 0.40x (± 0.02, 5 seeds)"; of a policy that uses estimates, also
// which.
std::string verdict(const std::vector<RunGroup>& groups);

}  // namespace weft

// What `weft demo` ends with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "demo_run.h"

namespace weft {

struct DemoSummary {
  DemoPark park;
  std::vector<DemoResult> runs;  // of demo_styles(), in order; or all of the first: equal runs
  Seconds took = 0;
  std::uint64_t seed = 0;

  const DemoResult& first() const { return runs.front(); }
  const DemoResult& last() const { return runs.back(); }
  // How many times as long jobs took on average in the first run.
  double gain(const DemoResult& run) const { return first().mean_time() / run.mean_time(); }
  bool all_well() const;
  bool equal_runs() const { return runs.size() > 1 && last().name == first().name; }
  // How far a job's time is from its mean over equal runs, on average; of all jobs if none is
  // named.
  double spread_pct(const std::string& job = "") const;
};

// How a run is called: by its name, in a heading, in a sentence; and its colour.
struct DemoLook {
  const char *run, *head, *says, *color;
};
const DemoLook& demo_look_of(const DemoResult& run);
// What became of a job; null: the run has none of that name.
const DemoOutcome* demo_outcome_of(const DemoResult& run, const std::string& job);

// Within kPageColumns, for any number of runs.
std::string demo_table(const DemoSummary& summary);
// One sentence.
std::string demo_verdict(const DemoSummary& summary);
nlohmann::json demo_json(const DemoSummary& summary);
// One page that fetches nothing.
std::string demo_page(const DemoSummary& summary);

}  // namespace weft

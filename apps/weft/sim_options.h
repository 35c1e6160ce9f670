// What `weft sim` was asked to do.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/options.h"

namespace weft {

struct SimArguments {
  std::vector<std::string> clusters, policies;
  std::vector<double> loads{1.0};
  std::string trace, format = "auto", profiles, place;
  std::string estimates;  // empty: users' where the trace has them, else the true durations
  std::string jobs_out, decisions, report, faults;
  std::string rates = "table", bandwidth = "fair", network, codecs;
  std::string explain;  // job to explain; empty: none
  std::uint64_t seed = 1;
  int seeds = 1, threads = 0;
  bool json = false, csv = false, markdown = false, list_policies = false;
  SimOptions options;
};

// Runs the verb; returns the exit code.
int run_sim(const SimArguments& arguments);

}  // namespace weft

// `weft net iteration`: one training iteration under flow schedulers.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct IterationArguments {
  std::string job, svg, trace_out;
  std::vector<std::string> schedulers;
  int iterations = 20;
  bool json = false, csv = false, markdown = false, list_schedulers = false;
};

// Runs the verb; returns the exit code.
int run_net_iteration(const IterationArguments& arguments);

}  // namespace weft

// `weft plan pipeline --recording`: a recorded run, replayed.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct TraceArguments {
  std::string file, svg, perfetto;
  std::vector<std::string> ideal;
  bool json = false, csv = false, markdown = false;
};

// Returns the exit code.
int run_plan_trace(const TraceArguments& arguments);

}  // namespace weft

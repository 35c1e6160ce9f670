// What is expected of a run of the demo.
#pragma once

#include <map>
#include <string>

#include "demo_plan.h"

namespace weft {

// Of a job, in seconds from its submission.
struct DemoExpectation {
  Seconds start = 0, end = 0;
  std::uint32_t restarts = 0;
};

// Of every job, by simulating the run with the same policy on the same cluster: profiles from the
// calibration, links shared by who uses them, programs that load beside what sends then, a crash of
// the victim: when is not known, so it is taken to have done half of its work.
Result<std::map<std::string, DemoExpectation>> demo_forecast(const DemoStyle& style,
                                                             const DemoPark& park,
                                                             const Calibration& calibration,
                                                             const std::string& folder,
                                                             double crash_share = 0.5);

}  // namespace weft

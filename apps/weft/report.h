// The report page of `weft sim --report`: one HTML file that needs nothing but a browser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/trace.h"
#include "sim/metrics.h"

namespace weft {

struct ReportInput {
  const Cluster* cluster = nullptr;
  const Trace* trace = nullptr;
  std::uint32_t replicate = 1;
  std::vector<const RunResult*> runs;  // the first is the baseline
  std::vector<std::string> labels;     // of the runs; empty: policies, and what tells them apart
};

// A run with more rectangles than this has its smaller jobs drawn as occupancy of cells (rows by
// time). So many runs share the second figure, which keeps the page under 15 MB.
inline constexpr size_t kReportSpansPerRun = 60'000;
inline constexpr size_t kReportSpansInAll = 300'000;
// Outages drawn in all runs together; of more, the largest.
inline constexpr size_t kReportOutagesInAll = 40'000;

// Requires: at least one run, all of this trace and replication; arrivals may be rescaled. A run of
// another cluster (by its text) is compared, but has no line of utilisation and no timeline.
// Ensures: a page that fetches nothing. Names are shown as text whatever bytes they hold; long ones
// are cut, and bytes that are not UTF-8 become replacement characters. What was drawn as cells is
// said on the page.  Cost: O(spans log spans + jobs log jobs + devices) for each run.
std::string report_html(const ReportInput& input);

// The page without data, with the text {{WEFT_DATA}} where they go; embedded by the build.
std::string_view report_page();

}  // namespace weft

// CASSINI (Rajasekaran et al., NSDI '24): the communication of each job falls into the pauses of
// those it shares links with, by delays found from their circles.
#include <algorithm>

#include "timing/iteration/schedulers/schedulers.h"

namespace weft {
namespace {

// What the job asks of the link in one of its own iterations.
Circle circle_on(const IterationGraph& graph, const SoloRun& solo, LinkId link, Seconds period) {
  Circle circle{period, {}};
  for (const IterationSpan& span : solo.spans) {
    if (span.wire_bytes <= 0 || span.end <= span.data) continue;
    const std::vector<LinkId>& path = graph.wires[graph.ops[span.op].place].path;
    if (std::find(path.begin(), path.end(), link) == path.end()) continue;
    circle.phases.push_back({span.data, span.end, span.wire_bytes / (span.end - span.data)});
  }
  return circle;
}

}  // namespace

void apply_cassini(const BetweenInput& input, std::vector<IterationSetting>& settings) {
  const TrainingFile& file = input.file;
  std::vector<Seconds> periods;
  Seconds start = 0;
  for (std::size_t j = 0; j < file.jobs.size(); ++j) {
    periods.push_back(input.solo[j].iteration);
    start = std::max(start, file.jobs[j].start);
  }
  const CommonPeriod common = common_period(periods);
  std::vector<SharedLink> links;
  for (LinkId link = 0; link < file.link_bytes_per_s.size(); ++link) {
    SharedLink shared{file.link_bytes_per_s[link], {}, {}};
    for (std::uint32_t j = 0; j < file.jobs.size(); ++j) {
      Circle circle =
          circle_on(file.jobs[j].graph, input.solo[j], link, common.perimeter / common.turns[j]);
      if (circle.phases.empty()) continue;
      shared.jobs.push_back(j);
      shared.circles.push_back(std::move(circle));
    }
    if (shared.jobs.size() > 1) links.push_back(std::move(shared));
  }
  const TimeShifts shifts =
      time_shifts(static_cast<std::uint32_t>(file.jobs.size()), common.perimeter, links);
  for (std::size_t j = 0; j < settings.size(); ++j) {
    settings[j].shift = {start - file.jobs[j].start + shifts.delays[j],
                         common.perimeter / common.turns[j]};
  }
}

}  // namespace weft

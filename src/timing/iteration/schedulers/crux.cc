// Crux (Cao et al., SIGCOMM '24): the job that computes most per second of network time first, in
// few strict levels. Its correction of the intensity by iteration length and overlap is left out.
#include <algorithm>
#include <cmath>

#include "flow/key.h"
#include "timing/iteration/schedulers/schedulers.h"

namespace weft {
namespace {

constexpr std::uint32_t kCruxLevels = 8;  // as switches commonly have

// Seconds of each link that an iteration of the job takes.
std::vector<double> link_seconds(const TrainingFile& file, const IterationGraph& graph) {
  std::vector<double> seconds(file.link_bytes_per_s.size());
  for (const IterationOp& op : graph.ops) {
    if (!op.is_transfer) continue;
    const IterationWire& wire = graph.wires[op.place];
    for (LinkId link : wire.path) {
      seconds[link] += op.amount * wire.factor / file.link_bytes_per_s[link];
    }
  }
  return seconds;
}

}  // namespace

void apply_crux(const BetweenInput& input, std::vector<IterationSetting>& settings) {
  std::vector<std::vector<double>> seconds;
  std::vector<double> intensity;
  for (const TrainingJob& job : input.file.jobs) {
    seconds.push_back(link_seconds(input.file, job.graph));
    const double network = *std::max_element(seconds.back().begin(), seconds.back().end());
    const double work = compute_seconds(job.graph) / static_cast<double>(job.graph.devices.size());
    intensity.push_back(network > 0 ? work * job.devices / network : 0);
  }
  std::vector<Contention> pairs;
  for (std::uint32_t a = 0; a < intensity.size(); ++a) {
    for (std::uint32_t b = a + 1; b < intensity.size(); ++b) {
      bool meet = false;
      for (std::size_t l = 0; l < seconds[a].size(); ++l) {
        meet = meet || (seconds[a][l] > 0 && seconds[b][l] > 0);
      }
      // Two alike lose nothing by sharing a level.
      if (meet) pairs.push_back({a, b, std::abs(intensity[a] - intensity[b])});
    }
  }
  const std::uint32_t levels = input.values.empty()
                                   ? kCruxLevels
                                   : static_cast<std::uint32_t>(std::max(1.0, input.values[0]));
  const Levels found = compress_levels(intensity, pairs, levels);
  for (std::size_t j = 0; j < settings.size(); ++j) settings[j].rate.rank = found.of[j];
}

}  // namespace weft

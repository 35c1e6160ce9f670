// Between jobs by rate class alone: fair sharing, guaranteed and limited shares, weights by
// progress.
#include "timing/iteration/schedulers/schedulers.h"

namespace weft {

void apply_fair(const BetweenInput&, std::vector<IterationSetting>&) {}

void apply_shares(const BetweenInput& input, std::vector<IterationSetting>& settings) {
  std::vector<BandwidthShare> shares;
  for (const TrainingJob& job : input.file.jobs) shares.push_back(job.share);
  const std::vector<RateClass> classes = share_classes(shares);
  for (std::size_t j = 0; j < settings.size(); ++j) settings[j].rate = classes[j];
}

// MLTCP (Rajasekaran et al., arXiv 2402.09589).
void apply_mltcp(const BetweenInput&, std::vector<IterationSetting>& settings) {
  for (IterationSetting& setting : settings) setting.by_progress = true;
}

}  // namespace weft

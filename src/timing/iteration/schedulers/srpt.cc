// Between jobs by what they have done: least remaining work first, or the youngest first.
#include "flow/key.h"
#include "timing/iteration/schedulers/schedulers.h"

namespace weft {
namespace {

// Least key first; a job that does not say how long it is comes last.
template <typename Key>
void rank_jobs(const BetweenInput& input, std::vector<IterationSetting>& settings, Key key) {
  std::vector<double> keys;
  for (std::size_t j = 0; j < settings.size(); ++j) {
    keys.push_back(input.file.jobs[j].iterations_total > 0 ? key(j) : kNever);
  }
  const std::vector<std::uint32_t> ranks = dense_ranks(keys);
  for (std::size_t j = 0; j < settings.size(); ++j) settings[j].rate.rank = ranks[j];
}

}  // namespace

void apply_srpt(const BetweenInput& input, std::vector<IterationSetting>& settings) {
  rank_jobs(input, settings, [&](std::size_t j) {
    const TrainingJob& job = input.file.jobs[j];
    return (job.iterations_total - job.iterations_done) * input.solo[j].iteration;
  });
}

// JPAS (Zhou et al., JNCA 2020) serves jobs in an early stage of training first, where iterations
// bring most.
void apply_jpas(const BetweenInput& input, std::vector<IterationSetting>& settings) {
  rank_jobs(input, settings, [&](std::size_t j) {
    const TrainingJob& job = input.file.jobs[j];
    return job.iterations_done / job.iterations_total;
  });
}

}  // namespace weft

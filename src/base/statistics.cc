#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

Summary summarize(std::vector<double> values) {
  Summary summary;
  if (values.empty()) return summary;
  std::sort(values.begin(), values.end());
  const auto rank = [&](double p) {
    const auto index = static_cast<size_t>(p / 100.0 * static_cast<double>(values.size()));
    return values[std::min(index, values.size() - 1)];
  };
  summary.mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  summary.p50 = rank(50);
  summary.p95 = rank(95);
  summary.p99 = rank(99);
  summary.max = values.back();
  return summary;
}

void DurationHistogram::add_ns(std::int64_t ns) {
  const double octave = std::log2(static_cast<double>(std::max<std::int64_t>(ns, 1)));
  const auto bucket = static_cast<size_t>(octave * kPerOctave);
  ++buckets_[std::min(bucket, buckets_.size() - 1)];
  ++count_;
}

double DurationHistogram::percentile_s(double p) const {
  if (count_ == 0) return 0;
  const double target = p / 100.0 * static_cast<double>(count_);
  std::int64_t seen = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (static_cast<double>(seen) >= target && buckets_[bucket] > 0) {
      return 1e-9 * std::exp2(static_cast<double>(bucket + 1) / kPerOctave);
    }
  }
  return 0;
}

}  // namespace weft

#include "sim/estimate.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weft {

std::string EstimateMode::text() const {
  switch (kind) {
    case Kind::kOracle:
      return "oracle";
    case Kind::kUser:
      return "user";
    case Kind::kHistory:
      return "history";
    case Kind::kNoisy:
      return fmt::format("noisy:{}", sigma);
  }
  return "";
}

Result<EstimateMode> parse_estimates(const std::string& text) {
  using Kind = EstimateMode::Kind;
  if (text == "oracle") return EstimateMode{Kind::kOracle, 0};
  if (text == "user") return EstimateMode{Kind::kUser, 0};
  if (text == "history") return EstimateMode{Kind::kHistory, 0};
  if (text.starts_with("noisy:")) {
    double sigma = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 6, end, sigma);
    if (error == std::errc{} && stop == end && sigma >= 0 && sigma <= 10) {
      return EstimateMode{Kind::kNoisy, sigma};
    }
  }
  return Error{ErrorKind::kInvalidInput,
               fmt::format("estimates '{}' are not known; allowed: oracle, user, history, "
                           "noisy:SIGMA with SIGMA from 0 to 10",
                           text),
               "noisy:0.5 multiplies the true duration by a log-normal factor"};
}

EstimateMode default_estimates(const Trace& trace) {
  const bool told = std::any_of(trace.jobs.begin(), trace.jobs.end(), [](const TraceJob& job) {
    return !std::isnan(job.truth.user_estimate);
  });
  return {told ? EstimateMode::Kind::kUser : EstimateMode::Kind::kOracle, 0};
}

Estimate Estimator::of(const TraceJob& job) {
  const double rate = job.submission->requested().rate;
  const Seconds truth = rate > 0 ? job.truth.duration_at(rate) : job.truth.work;
  switch (mode_.kind) {
    case EstimateMode::Kind::kOracle:
      return {truth, EstimateSource::kOracle};
    case EstimateMode::Kind::kUser:
      return {job.truth.user_estimate, EstimateSource::kUser};
    case EstimateMode::Kind::kHistory:
      return {};
    case EstimateMode::Kind::kNoisy:
      return {truth * random_.log_normal(0, mode_.sigma), EstimateSource::kNoisy};
  }
  return {};
}

}  // namespace weft

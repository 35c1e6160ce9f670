// The oracle of the share solvers' tests: the same problems as linear programs, solved by CLP.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "policy/solve/share.h"

namespace weft {

// The largest level with throughput >= work * level for every job that can run. Delays must be 0.
double level_by_lp(const ShareProblem& problem, std::span<const ShareNeed> needs);

// The largest sum of value * fraction with the floors kept; nothing where they cannot be.
std::optional<double> value_by_lp(const ShareProblem& problem, std::span<const double> value,
                                  std::span<const double> floor);

double throughput_of(const ShareProblem& problem, std::span<const double> fraction,
                     std::size_t job);
// The best a job can do alone on a type that it fits; 0 if there is none.
double best_alone(const ShareProblem& problem, std::size_t job);
// How far the fractions break sign, row sums or capacity, relatively; 0 when they do not.
double violation(const ShareProblem& problem, std::span<const double> fraction);

enum class ShareShape {
  kPlain,        // different jobs, different speeds
  kSomeZero,     // many types that a job cannot use
  kAlike,        // all jobs and types the same
  kRoomy,        // more devices than jobs can use
  kCrowded,      // far more jobs than devices
  kMissingType,  // the first type has no devices
  kFewSpeeds,    // small integers: many ties
};
inline constexpr ShareShape kShareShapes[] = {
    ShareShape::kPlain,   ShareShape::kSomeZero,    ShareShape::kAlike,    ShareShape::kRoomy,
    ShareShape::kCrowded, ShareShape::kMissingType, ShareShape::kFewSpeeds};
ShareProblem random_share_problem(Random& random, ShareShape shape, std::size_t jobs,
                                  std::size_t types);

}  // namespace weft

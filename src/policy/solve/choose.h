// The *choose* step: at most one option per job, all jobs together within the devices of each type,
// total value as large as possible. Optimus, AFS, Pollux and Sia are this step with different
// values.
//
// It is a multiple-choice knapsack with one capacity row per device type. One price per type
// settles all but a handful of jobs: given prices, every job picks the option worth most after
// paying, and the prices that make the picks fit best give the bound of the linear relaxation
// (Geoffrion 1974, Lagrangean relaxation for integer programming). The jobs at the margin are then
// settled by greedy moves and a bounded search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace weft {

// One way to run a job: worth `value`, holding `devices` devices of type `type`.
struct ChooseOption {
  double value = 0;
  std::int32_t devices = 0;
  TypeId type = 0;
};

// Job j owns options [first_option[j], first_option[j+1]).
// Requires: first_option starts with 0, does not decrease and ends with options.size(); values are
// finite; devices and capacity >= 0; type < capacity.size(). An option worth 0 or less is never
// taken, for a job without any option counts 0 (shift the values of a job when running nothing has
// another worth).
struct ChooseProblem {
  std::vector<std::int64_t> capacity;  // devices per type
  std::vector<std::uint32_t> first_option;
  std::vector<ChooseOption> options;

  std::size_t jobs() const { return first_option.empty() ? 0 : first_option.size() - 1; }
};

struct ChooseLimits {
  double tolerance = 1e-9;             // prices are done when the bound is this close, relatively
  int price_rounds = 400;              // at most so many evaluations of all jobs
  std::int64_t search_steps = 20'000;  // at most so many steps of the final search
};

inline constexpr std::int32_t kNoOption = -1;

struct ChooseResult {
  std::vector<std::int32_t> choice;  // index into options, or kNoOption, per job
  double value = 0;                  // of the choice
  double bound = 0;  // no choice is worth more: the linear relaxation, less options too large alone
  std::vector<double> price;  // per device of each type; a warm start for the next decision
  int price_rounds = 0;

  // How much better than this choice any choice can be, as a share of the bound.
  double gap() const { return bound > 0 ? (bound - value) / bound : 0; }
};

// Ensures: the choice fits every capacity, value <= bound, and equal arguments give equal results.
// `warm_price` (empty, or one per type) speeds the search up and never changes what is correct.
// Cost: O(options) per price round, some 20 to 80 rounds.
ChooseResult choose(const ChooseProblem& problem, std::span<const double> warm_price = {},
                    const ChooseLimits& limits = {});

}  // namespace weft

// Every way of splitting the training of a model over a number of devices, tried.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/exact_pipeline.h"

namespace weft::planner {

// kCalculon: the knobs of Calculon's search (Isaev et al. 2023), in its numbers: even stages, no
// context parallelism, ZeRO 0 and 1, offloading, which of three groups share nodes.
// kOwn: schedules, uneven stages, context and expert parallelism, ZeRO 0 to 3 as well; ranks fill
// nodes in Megatron's order.
enum class SearchSpace { kOwn, kCalculon };

struct SearchQuestion {
  int devices = 1;
  int batch = 1;  // samples of one step
  SearchSpace space = SearchSpace::kOwn;
  int keep = 10;  // layouts to rank
};

struct Candidate {
  Layout layout;
  StepTime time;
  MemoryUse memory;
  std::optional<ExactStep> exact = {};  // then `time` is its time

  Seconds seconds() const { return time.total(); }
};

struct SearchAnswer {
  std::int64_t configurations = 0, feasible = 0;
  std::map<std::string, std::int64_t> rejected;  // by reason
  std::vector<Candidate> ranked;  // fastest first; one for each way to divide devices
  std::vector<Candidate> pareto;  // least memory first: each faster by 0.5 % or more
  // Of those that do not fit: the one whose device memory is nearest to fitting.
  std::optional<Candidate> nearest;
};

// Ensures: `ranked` is empty only if no configuration fits. Deterministic.
// The error says why not even one configuration could be made.
// Cost: about 0.1 us for a configuration; memory does not grow with their number.
Result<SearchAnswer> search(const Workload& work, const SearchQuestion& question);

// Solves the pipelines of ranked layouts and of the front, and ranks anew by that. A layout whose
// pipeline has more than kExactOperations operations, or no generator, keeps its closed form.
// Cost: O(operations) for each.
inline constexpr std::int64_t kExactOperations = 1'000'000;
void solve_best(const Workload& work, SearchAnswer& answer);

// By samples: a batch that did not divide was cut a little.
inline double seconds_per_sample(const Candidate& one) {
  return one.seconds() / one.layout.global_batch;
}

}  // namespace weft::planner

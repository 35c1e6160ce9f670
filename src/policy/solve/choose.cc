#include "policy/solve/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "policy/solve/choose_prices.h"

namespace weft {
namespace {

constexpr std::size_t kCoreJobs = 48;  // jobs that the final search may still move

// Depth-first search over the jobs whose decision is closest. The value of any choice is the bound
// less the losses of its jobs less the price of what stays unused, so a branch whose losses reach
// the present gap cannot improve. Exact when every job is in the core and the steps suffice.
class CoreSearch {
 public:
  struct Candidate {
    double loss;
    std::int32_t option;
  };
  struct Job {
    std::size_t job;
    std::vector<Candidate> candidates;  // by loss
  };

  CoreSearch(const ChooseProblem& problem, const std::vector<double>& price, std::vector<Job> core,
             std::vector<std::int64_t> spare, double budget, std::int64_t steps)
      : problem_(problem),
        price_(price),
        core_(std::move(core)),
        spare_(std::move(spare)),
        budget_(budget),
        steps_(steps),
        trial_(core_.size(), kNoOption) {
    most_.assign((core_.size() + 1) * price_.size(), 0);
    for (std::size_t depth = core_.size(); depth-- > 0;) {
      std::int64_t* row = &most_[depth * price_.size()];
      std::copy_n(row + price_.size(), price_.size(), row);
      std::vector<std::int64_t> largest(price_.size(), 0);
      for (const Candidate& c : core_[depth].candidates) {
        if (c.option == kNoOption) continue;
        const ChooseOption& o = problem_.options[static_cast<std::size_t>(c.option)];
        largest[o.type] = std::max<std::int64_t>(largest[o.type], o.devices);
      }
      for (std::size_t t = 0; t < price_.size(); ++t) row[t] += largest[t];
    }
  }

  // Ensures: best() is empty when nothing better than the budget was found.
  void run() { descend(0, 0.0); }
  const std::vector<std::int32_t>& best() const { return best_; }

 private:
  // The price of devices that stay unused even if all deeper jobs take the most they can.
  double idle(std::size_t depth) const {
    double cost = 0;
    for (std::size_t t = 0; t < price_.size(); ++t) {
      const std::int64_t left = spare_[t] - most_[depth * price_.size() + t];
      if (left > 0) cost += price_[t] * static_cast<double>(left);
    }
    return cost;
  }

  void descend(std::size_t depth, double lost) {
    if (lost + idle(depth) >= budget_ || steps_-- <= 0) return;
    if (depth == core_.size()) {
      budget_ = lost + idle(depth);
      best_ = trial_;
      return;
    }
    for (const Candidate& candidate : core_[depth].candidates) {
      if (lost + candidate.loss >= budget_) return;
      trial_[depth] = candidate.option;
      if (candidate.option == kNoOption) {
        descend(depth + 1, lost + candidate.loss);
        continue;
      }
      const ChooseOption& o = problem_.options[static_cast<std::size_t>(candidate.option)];
      if (o.devices > spare_[o.type]) continue;
      spare_[o.type] -= o.devices;
      descend(depth + 1, lost + candidate.loss);
      spare_[o.type] += o.devices;
    }
  }

  const ChooseProblem& problem_;
  const std::vector<double>& price_;
  std::vector<Job> core_;
  std::vector<std::int64_t> spare_;
  double budget_;
  std::int64_t steps_;
  std::vector<std::int32_t> trial_;
  std::vector<std::int32_t> best_;
  std::vector<std::int64_t> most_;  // per depth and type: devices that deeper jobs can use at most
};

// A problem without the options that no choice can hold, and where its options came from.
struct Pruned {
  ChooseProblem problem;
  std::vector<std::int32_t> origin;
};

Pruned prune(const ChooseProblem& full) {
  Pruned result;
  result.problem.capacity = full.capacity;
  result.problem.first_option.reserve(full.jobs() + 1);
  result.problem.first_option.push_back(0);
  result.problem.options.reserve(full.options.size());
  result.origin.reserve(full.options.size());
  for (std::size_t j = 0; j < full.jobs(); ++j) {
    for (std::uint32_t o = full.first_option[j]; o < full.first_option[j + 1]; ++o) {
      const ChooseOption& option = full.options[o];
      CHECK(option.type < full.capacity.size() && option.devices >= 0);
      CHECK(std::isfinite(option.value));
      if (option.value <= 0 || option.devices > full.capacity[option.type]) continue;
      result.problem.options.push_back(option);
      result.origin.push_back(static_cast<std::int32_t>(o));
    }
    result.problem.first_option.push_back(static_cast<std::uint32_t>(result.origin.size()));
  }
  return result;
}

// From prices to a choice: everybody's pick, then what makes it fit, then what makes it better.
class Chooser {
 public:
  Chooser(const ChooseProblem& problem, const ChooseLimits& limits, ChoosePrices prices)
      : problem_(problem), limits_(limits), prices_(std::move(prices)) {}

  std::vector<std::int32_t> run() {
    start_from_picks();
    make_fit();
    fill_gaps();
    search();
    return std::move(choice_);
  }

 private:
  struct Move {
    double rank;
    std::uint32_t job;
    std::int32_t option;
  };

  const ChooseOption& option(std::int32_t index) const {
    return problem_.options[static_cast<std::size_t>(index)];
  }
  double value_of(std::int32_t index) const {
    return index == kNoOption ? 0.0 : option(index).value;
  }
  double net(std::int32_t index) const {
    if (index == kNoOption) return 0.0;
    return option(index).value - prices_.price[option(index).type] * option(index).devices;
  }
  // What a job gives up at these prices by taking `index` instead of its pick.
  double loss(std::size_t job, std::int32_t index) const { return best_net_[job] - net(index); }
  // The options of a job, as first and one past the last.
  std::int32_t first(std::size_t job) const {
    return static_cast<std::int32_t>(problem_.first_option[job]);
  }

  void start_from_picks();
  void make_fit();
  void add_releases(std::size_t job, std::vector<Move>& moves) const;
  void fill_gaps();
  void search();
  double gap() const;
  std::vector<CoreSearch::Job> doubtful_jobs(double gap) const;
  void set(std::size_t job, std::int32_t index);
  bool fits(std::size_t job, std::int32_t index) const;

  const ChooseProblem& problem_;
  const ChooseLimits& limits_;
  const ChoosePrices prices_;
  std::vector<std::int32_t> choice_;
  std::vector<double> best_net_;     // per job, of its pick
  std::vector<std::int64_t> spare_;  // capacity less devices in use; negative while overfull
};

void Chooser::set(std::size_t job, std::int32_t index) {
  std::int32_t& held = choice_[job];
  if (held != kNoOption) spare_[option(held).type] += option(held).devices;
  if (index != kNoOption) spare_[option(index).type] -= option(index).devices;
  held = index;
}

bool Chooser::fits(std::size_t job, std::int32_t index) const {
  if (index == kNoOption) return true;
  const ChooseOption& wanted = option(index);
  const std::int32_t held = choice_[job];
  std::int64_t spare = spare_[wanted.type];
  if (held != kNoOption && option(held).type == wanted.type) spare += option(held).devices;
  return wanted.devices <= spare;
}

void Chooser::start_from_picks() {
  const std::size_t jobs = problem_.jobs();
  spare_.assign(problem_.capacity.begin(), problem_.capacity.end());
  choice_.assign(jobs, kNoOption);
  best_net_.assign(jobs, 0.0);
  for (std::size_t j = 0; j < jobs; ++j) {
    std::int32_t pick = kNoOption;
    for (std::int32_t o = first(j); o < first(j + 1); ++o) {
      if (net(o) <= best_net_[j]) continue;
      best_net_[j] = net(o);
      pick = o;
    }
    set(j, pick);
  }
}

// The ways in which a job can give back devices of a type that is overfull, ranked by what that
// costs per device.
void Chooser::add_releases(std::size_t job, std::vector<Move>& moves) const {
  const std::int32_t current = choice_[job];
  if (current == kNoOption) return;
  const ChooseOption& held = option(current);
  if (spare_[held.type] >= 0 || held.devices == 0) return;
  const auto add = [&](std::int32_t index, double freed) {
    const double cost = (net(current) - net(index)) / freed;
    moves.push_back({cost, static_cast<std::uint32_t>(job), index});
  };
  add(kNoOption, held.devices);
  for (std::int32_t o = first(job); o < first(job + 1); ++o) {
    const bool same_type = option(o).type == held.type;
    const int freed = held.devices - (same_type ? option(o).devices : 0);
    if (freed > 0 && (same_type || option(o).devices <= spare_[option(o).type])) add(o, freed);
  }
}

// Takes devices back where more are picked than exist.
void Chooser::make_fit() {
  std::vector<Move> moves;
  std::vector<char> moved;
  while (std::any_of(spare_.begin(), spare_.end(), [](std::int64_t s) { return s < 0; })) {
    moves.clear();
    for (std::size_t j = 0; j < choice_.size(); ++j) add_releases(j, moves);
    std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
      return a.rank != b.rank ? a.rank < b.rank
             : a.job != b.job ? a.job < b.job
                              : a.option < b.option;
    });
    moved.assign(choice_.size(), 0);
    for (const Move& move : moves) {
      if (moved[move.job]) continue;
      const TypeId type = option(choice_[move.job]).type;
      if (spare_[type] >= 0) continue;
      const bool same_type = move.option != kNoOption && option(move.option).type == type;
      if (!same_type && !fits(move.job, move.option)) continue;
      set(move.job, move.option);
      moved[move.job] = 1;
    }
  }
}

// Hands out devices left over, the largest rise in value first.
void Chooser::fill_gaps() {
  std::vector<Move> moves;
  for (;;) {
    moves.clear();
    for (std::size_t j = 0; j < choice_.size(); ++j)
      for (std::int32_t o = first(j); o < first(j + 1); ++o)
        if (option(o).value > value_of(choice_[j]) && fits(j, o))
          moves.push_back(
              {option(o).value - value_of(choice_[j]), static_cast<std::uint32_t>(j), o});
    if (moves.empty()) return;
    std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
      return a.rank != b.rank ? a.rank > b.rank : a.option < b.option;
    });
    for (const Move& move : moves)
      if (option(move.option).value > value_of(choice_[move.job]) && fits(move.job, move.option))
        set(move.job, move.option);
  }
}

// How far the choice is from the bound: losses of the jobs and the price of idle devices.
double Chooser::gap() const {
  double sum = 0;
  for (std::size_t j = 0; j < choice_.size(); ++j) sum += loss(j, choice_[j]);
  for (std::size_t t = 0; t < spare_.size(); ++t)
    sum += prices_.price[t] * static_cast<double>(spare_[t]);
  return sum;
}

// Jobs with two or more options that a better choice could hold, and jobs not at their pick. The
// most doubtful come last: those are the ones that the search varies most.
std::vector<CoreSearch::Job> Chooser::doubtful_jobs(double gap) const {
  std::vector<CoreSearch::Job> core;
  for (std::size_t j = 0; j < choice_.size(); ++j) {
    CoreSearch::Job entry{j, {}};
    if (best_net_[j] < gap) entry.candidates.push_back({best_net_[j], kNoOption});
    for (std::int32_t o = first(j); o < first(j + 1); ++o)
      if (loss(j, o) < gap) entry.candidates.push_back({loss(j, o), o});
    if (entry.candidates.size() < 2 && loss(j, choice_[j]) <= 0) continue;
    std::sort(entry.candidates.begin(), entry.candidates.end(), [](const auto& a, const auto& b) {
      return a.loss != b.loss ? a.loss < b.loss : a.option < b.option;
    });
    core.push_back(std::move(entry));
  }
  const auto doubt = [](const CoreSearch::Job& job) {
    return job.candidates.size() < 2 ? std::numeric_limits<double>::infinity()
                                     : job.candidates[1].loss;
  };
  std::stable_sort(core.begin(), core.end(),
                   [&](const auto& a, const auto& b) { return doubt(a) > doubt(b); });
  if (core.size() > kCoreJobs)
    core.erase(core.begin(), core.end() - static_cast<std::ptrdiff_t>(kCoreJobs));
  return core;
}

void Chooser::search() {
  const double gap_now = gap();
  const double enough = limits_.tolerance * prices_.bound;
  if (gap_now <= enough || limits_.search_steps <= 0) return;
  std::vector<CoreSearch::Job> core = doubtful_jobs(gap_now);
  std::vector<std::int64_t> spare = spare_;
  std::vector<std::size_t> jobs;
  double budget = gap_now - enough;
  for (std::size_t j = 0; j < choice_.size(); ++j) budget -= loss(j, choice_[j]);
  for (const CoreSearch::Job& entry : core) {
    jobs.push_back(entry.job);
    const std::int32_t held = choice_[entry.job];
    budget += loss(entry.job, held);
    if (held != kNoOption) spare[option(held).type] += option(held).devices;
  }
  CoreSearch search(problem_, prices_.price, std::move(core), std::move(spare), budget,
                    limits_.search_steps);
  search.run();
  for (std::size_t k = 0; k < search.best().size(); ++k) set(jobs[k], search.best()[k]);
}

}  // namespace

ChooseResult choose(const ChooseProblem& problem, std::span<const double> warm_price,
                    const ChooseLimits& limits) {
  CHECK(problem.first_option.empty() ? problem.options.empty()
                                     : problem.first_option.back() == problem.options.size());
  CHECK(warm_price.empty() || warm_price.size() == problem.capacity.size());
  CHECK(limits.price_rounds >= 1);
  for (const std::int64_t devices : problem.capacity) CHECK(devices >= 0);
  const Pruned pruned = prune(problem);
  ChoosePrices prices = find_prices(pruned.problem, warm_price, limits);
  ChooseResult result;
  result.price = prices.price;
  result.bound = prices.bound;
  result.price_rounds = prices.rounds;
  result.choice = Chooser(pruned.problem, limits, std::move(prices)).run();
  for (std::int32_t& index : result.choice) {
    if (index == kNoOption) continue;
    index = pruned.origin[static_cast<std::size_t>(index)];
    result.value += problem.options[static_cast<std::size_t>(index)].value;
  }
  result.bound = std::max(result.bound, result.value);
  return result;
}

}  // namespace weft

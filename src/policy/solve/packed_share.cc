#include "policy/solve/packed_share.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "policy/solve/sparse_simplex.h"

namespace weft::solve {
namespace {

constexpr std::size_t kMostKinds = 256;
constexpr double kStopped = 1e-7;  // part of the level's price from which a kind counts as stopped

// Jobs of one model, scale, need and speed.
struct Kind {
  int model = -1;
  double scale = 1, work = 1;
  std::vector<double> rate;          // by type; 0 where it does not fit
  std::vector<std::size_t> members;  // jobs
  double count() const { return static_cast<double>(members.size()); }
};

std::vector<Kind> kinds_of(const PackedProblem& problem, std::span<const ShareNeed> needs) {
  const ShareProblem& alone = problem.alone;
  std::map<std::vector<double>, std::size_t> known;
  std::vector<Kind> kinds;
  for (std::size_t j = 0; j < alone.jobs(); ++j) {
    Kind kind{problem.model[j], alone.scale[j], needs[j].work, {}, {}};
    bool runs = false;
    for (std::size_t t = 0; t < alone.types(); ++t) {
      const double rate = alone.throughput[j * alone.types() + t];
      const bool fits = alone.capacity[t] > 0 && alone.scale[j] <= alone.capacity[t];
      kind.rate.push_back(fits ? rate : 0);
      runs |= kind.rate.back() > 0;
    }
    if (!runs) continue;
    std::vector<double> key = kind.rate;
    key.insert(key.end(), {static_cast<double>(kind.model), kind.scale, kind.work});
    const auto [at, fresh] = known.emplace(std::move(key), kinds.size());
    if (fresh) kinds.push_back(std::move(kind));
    kinds[at->second].members.push_back(j);
  }
  return kinds;
}

// Rows: time of each kind, devices of each type, level of each kind. A column is the time that one
// kind, or a pair of kinds, spends on one type, in sum over its members.
class PackedSolver {
 public:
  PackedSolver(const PackedProblem& problem, std::vector<Kind> kinds)
      : problem_(problem),
        kinds_(std::move(kinds)),
        types_(problem.alone.types()),
        simplex_(limits()) {
    for (std::size_t a = 0; a < kinds_.size(); ++a) add_columns(a);
  }

  void solve();
  PackedResult result();

 private:
  struct Column {
    std::size_t first, second, type;  // second == first: the kind with itself
    bool pair;
  };

  std::size_t time_row(std::size_t kind) const { return kind; }
  std::size_t device_row(std::size_t type) const { return kinds_.size() + type; }
  std::size_t level_row(std::size_t kind) const { return kinds_.size() + types_ + kind; }
  // Level that one unit of the kind's time at this speed adds to each of its members.
  double lift(std::size_t kind, std::size_t type, double speed) const {
    const Kind& k = kinds_[kind];
    return k.rate[type] * speed / (k.work * k.count());
  }
  std::vector<double> limits() const;
  void add_columns(std::size_t kind);
  void add_pair(std::size_t first, std::size_t second, std::size_t type);
  std::size_t add_level(const std::vector<bool>& stopped);
  double bound() const;
  void spread(const Column& column, double time, PackedResult& out);

  const PackedProblem& problem_;
  const std::vector<Kind> kinds_;
  const std::size_t types_;
  SparseSimplex simplex_;
  std::vector<Column> columns_;  // the simplex' first ones
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> pairs_;
  double level_ = 0, bound_ = 0;
};

// Level rows start at zero; limits of a hair above, each its own, keep pivots from cycling.
std::vector<double> PackedSolver::limits() const {
  std::vector<double> limit;
  double reach = 0;
  for (const Kind& kind : kinds_) {
    limit.push_back(kind.count());
    reach = std::max(reach, *std::max_element(kind.rate.begin(), kind.rate.end()) / kind.work);
  }
  limit.insert(limit.end(), problem_.alone.capacity.begin(), problem_.alone.capacity.end());
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const double golden = std::fmod(0.6180339887498949 * static_cast<double>(k + 1), 1.0);
    limit.push_back(1e-10 * reach * (1 + golden));
  }
  return limit;
}

void PackedSolver::add_columns(std::size_t kind) {
  for (std::size_t t = 0; t < types_; ++t) {
    if (kinds_[kind].rate[t] <= 0) continue;
    const SparseSimplex::Entry entries[] = {{time_row(kind), 1},
                                            {device_row(t), kinds_[kind].scale},
                                            {level_row(kind), -lift(kind, t, 1)}};
    simplex_.add_column(entries, 0);
    columns_.push_back({kind, kind, t, false});
    for (std::size_t other = kind; other < kinds_.size(); ++other) add_pair(kind, other, t);
  }
}

void PackedSolver::add_pair(std::size_t first, std::size_t second, std::size_t type) {
  const Kind& a = kinds_[first];
  const Kind& b = kinds_[second];
  if (a.model < 0 || b.model < 0 || a.scale != b.scale || b.rate[type] <= 0) return;
  const double one = problem_.speed_of(type, a.model, b.model);
  const double two = problem_.speed_of(type, b.model, a.model);
  if (one <= 0 || two <= 0 || one + two <= 1) return;
  if (first == second) {
    if (a.members.size() < 2) return;
    const SparseSimplex::Entry entries[] = {{time_row(first), 2},
                                            {device_row(type), a.scale},
                                            {level_row(first), -2 * lift(first, type, one)}};
    simplex_.add_column(entries, 0);
  } else {
    const SparseSimplex::Entry entries[] = {{time_row(first), 1},
                                            {time_row(second), 1},
                                            {device_row(type), a.scale},
                                            {level_row(first), -lift(first, type, one)},
                                            {level_row(second), -lift(second, type, two)}};
    simplex_.add_column(entries, 0);
  }
  columns_.push_back({first, second, type, true});
}

std::size_t PackedSolver::add_level(const std::vector<bool>& stopped) {
  std::vector<SparseSimplex::Entry> entries;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (!stopped[k]) entries.push_back({level_row(k), 1});
  }
  return simplex_.add_column(entries, 1);
}

// The duals, made feasible: what columns still promise is added to the price of every kind's time.
double PackedSolver::bound() const {
  double cost = 0, jobs = 0, levels = 0;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    cost += std::max(0.0, simplex_.dual(time_row(k))) * kinds_[k].count();
    levels += std::max(0.0, simplex_.dual(level_row(k)));
    jobs += kinds_[k].count();
  }
  for (std::size_t t = 0; t < types_; ++t) {
    cost += std::max(0.0, simplex_.dual(device_row(t))) * problem_.alone.capacity[t];
  }
  return (cost + std::max(0.0, simplex_.worst_reduced_gain()) * jobs) / levels;
}

// Raises all kinds together until some are stopped, then the others, and so on.
void PackedSolver::solve() {
  std::vector<bool> stopped(kinds_.size());
  for (std::size_t left = kinds_.size(); left > 0;) {
    const std::size_t level = add_level(stopped);
    const bool best = simplex_.solve();
    if (left == kinds_.size()) bound_ = bound();
    if (!best) return;
    std::size_t dearest = level_row(0);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const double price = simplex_.dual(level_row(k));
      if (price > simplex_.dual(dearest)) dearest = level_row(k);
      if (stopped[k] || price <= kStopped) continue;
      stopped[k] = true;
      --left;
    }
    if (left > 0) simplex_.retire(level, dearest);
  }
}

// Every member of a kind gets the same time; who sits with whom is dealt out so that there are few
// pairs: as the north-west corner rule does between two kinds, and two by two within one (the odd
// one out makes a triangle with the last two).
void PackedSolver::spread(const Column& column, double time, PackedResult& out) {
  const Kind& a = kinds_[column.first];
  const Kind& b = kinds_[column.second];
  const auto give = [&](std::size_t one, std::size_t two, double part) {
    std::vector<double>& fraction = pairs_[std::minmax(one, two)];
    fraction.resize(types_);
    fraction[column.type] += part;
  };
  if (!column.pair) {
    for (std::size_t job : a.members) out.fraction[job * types_ + column.type] += time / a.count();
  } else if (column.first == column.second) {
    const std::size_t count = a.members.size();
    const std::size_t even = count % 2 == 0 ? count : count - 3;
    for (std::size_t i = 0; i < even; i += 2) {
      give(a.members[i], a.members[i + 1], 2 * time / a.count());
    }
    for (std::size_t i = even; i < count; ++i) {
      give(a.members[i], a.members[i + 1 < count ? i + 1 : even], time / a.count());
    }
  } else {
    // In whole numbers: each of a's members has b's count to give, and the other way round.
    std::size_t i = 0, j = 0, left_a = b.members.size(), left_b = a.members.size();
    while (i < a.members.size() && j < b.members.size()) {
      const std::size_t both = std::min(left_a, left_b);
      give(a.members[i], b.members[j], time * static_cast<double>(both) / (a.count() * b.count()));
      if ((left_a -= both) == 0) ++i, left_a = b.members.size();
      if ((left_b -= both) == 0) ++j, left_b = a.members.size();
    }
  }
}

PackedResult PackedSolver::result() {
  std::vector<double> time(kinds_.size()), devices(types_), level(kinds_.size());
  const std::vector<double> weight = simplex_.weights();
  double load = 1;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (weight[c] <= 0) continue;
    const std::size_t a = column.first, b = column.second, t = column.type;
    devices[t] += weight[c] * kinds_[a].scale;
    const double one = column.pair ? problem_.speed_of(t, kinds_[a].model, kinds_[b].model) : 1;
    time[a] += weight[c];
    level[a] += weight[c] * lift(a, t, one);
    if (!column.pair) continue;
    const double two = problem_.speed_of(t, kinds_[b].model, kinds_[a].model);
    time[b] += weight[c];
    level[b] += weight[c] * lift(b, t, two);
  }
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    load = std::max(load, time[k] / kinds_[k].count());
  for (std::size_t t = 0; t < types_; ++t) {
    if (devices[t] > 0) load = std::max(load, devices[t] / problem_.alone.capacity[t]);
  }
  PackedResult out;
  out.fraction.assign(problem_.alone.throughput.size(), 0);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (weight[c] > 0) spread(columns_[c], weight[c] / load, out);
  }
  for (auto& [jobs, fraction] : pairs_) {
    out.pairs.push_back({jobs.first, jobs.second, std::move(fraction)});
  }
  out.level = *std::min_element(level.begin(), level.end()) / load;
  out.bound = std::max(out.level, bound_);
  return out;
}

}  // namespace
}  // namespace weft::solve

namespace weft {

PackedResult share_packed(const PackedProblem& problem, std::span<const ShareNeed> needs) {
  std::vector<solve::Kind> kinds = solve::kinds_of(problem, needs);
  if (kinds.size() > solve::kMostKinds) {
    ShareResult apart = share_water_filling(problem.alone, needs);
    return {std::move(apart.fraction), {}, apart.level, 2 * apart.bound};
  }
  PackedResult nothing;
  nothing.fraction.assign(problem.alone.throughput.size(), 0);
  if (kinds.empty()) return nothing;
  solve::PackedSolver solver(problem, std::move(kinds));
  solver.solve();
  return solver.result();
}

}  // namespace weft

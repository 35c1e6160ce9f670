// Time of one share decision over jobs and pairs of jobs against Gavel's own packed solver (OSDI
// 2020; cvxpy and ECOS), on the same input sizes: 4 jobs for every 3 devices, a third of them of
// each type, jobs drawn from Gavel's measured throughputs and pairs. CPU milliseconds, median of
// the repetitions. Exits with 1 when a bar is missed and with 2 when the throughput table is.
//
// "table" jobs have the table's numbers, so many are alike, as in Gavel's measurement. "distinct"
// jobs run up to 20 % faster or slower, each in its own way: the solver's worst case.
#include <fmt/core.h>

#include <algorithm>

#include "base/random.h"
#include "base/stopwatch.h"
#include "model/cluster.h"
#include "model/readers/gavel_throughputs.h"
#include "policy/solve/packed_share.h"

namespace weft {
namespace {

constexpr const char* kTable = WEFT_SHARED_DATA "/jobs/gavel/simulation_throughputs.json";

struct Size {
  std::size_t jobs;
  double gavel_cpu_s;  // max_min_fairness_packed, one solve; 0: not measured
};
constexpr Size kSizes[] = {{32, 0.051}, {64, 0.15}, {128, 0.82}, {256, 4.90},
                           {1024, 0},   {4096, 0},  {16384, 0}};
constexpr double kLeastRatio = 20;  // "table" against Gavel
constexpr std::size_t kMostDistinct = 256;

struct Table {
  std::size_t models = 0;
  std::vector<double> rates;  // models x types
  std::vector<double> speed;  // types x models x models
};

Table read_table(const GavelThroughputs& table, const Cluster& cluster) {
  Table out;
  const std::vector<GavelKey> keys = table.keys();
  const PairTable pairs = table.make_pairs(cluster);
  std::vector<ModelId> single;
  for (ModelId m = 0; m < keys.size(); ++m) {
    if (keys[m].scale == 1) single.push_back(m);
  }
  out.models = single.size();
  for (ModelId m : single) {
    for (const DeviceType& type : cluster.types) {
      const GavelSpeeds* speeds = table.find(type.name, keys[m]);
      out.rates.push_back(speeds == nullptr ? 0 : speeds->alone);
    }
  }
  for (TypeId t = 0; t < cluster.types.size(); ++t) {
    for (ModelId a : single) {
      for (ModelId b : single) out.speed.push_back(std::min(1.0, pairs.at(t, a, b).first));
    }
  }
  return out;
}

PackedProblem draw(const Table& table, std::size_t jobs, std::size_t types, bool distinct) {
  Random random(jobs);
  PackedProblem problem;
  problem.alone.capacity.assign(types, static_cast<double>(jobs) / 4);
  problem.alone.scale.assign(jobs, 1);
  problem.models = table.models;
  problem.speed = table.speed;
  for (std::size_t j = 0; j < jobs; ++j) {
    const std::size_t model = random.below(table.models);
    problem.model.push_back(static_cast<int>(model));
    for (std::size_t t = 0; t < types; ++t) {
      const double rate = table.rates[model * types + t];
      problem.alone.throughput.push_back(distinct ? rate * random.uniform(0.8, 1.2) : rate);
    }
  }
  return problem;
}

double median_ms(const PackedProblem& problem, int repetitions, double& worst_gap) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const double begin = thread_cpu_seconds();
    const PackedResult share = share_packed(problem, max_min_needs(problem.alone, {}));
    times.push_back((thread_cpu_seconds() - begin) * 1e3);
    worst_gap = std::max(worst_gap, (share.bound - share.level) / share.bound);
  }
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  return times[static_cast<std::size_t>(repetitions / 2)];
}

int run() {
  const Result<GavelThroughputs> throughputs = read_gavel_throughputs("", kTable);
  if (!throughputs.ok()) {
    fmt::print(stderr, "packed_bench: {}\n", throughputs.error().text());
    return 2;
  }
  const Cluster cluster = parse_cluster_shorthand("v100:1x1,p100:1x1,k80:1x1").value();
  const Table table = read_table(*throughputs, cluster);
  bool missed = false;
  double worst_gap = 0;
  fmt::print("CPU ms per solve with pairs, median; {} models x 3 types\n", table.models);
  fmt::print("{:>6} {:>9} {:>10} {:>8} {:>12}\n", "jobs", "Gavel ms", "table ms", "ratio",
             "distinct ms");
  for (const Size& size : kSizes) {
    const double table_ms = median_ms(draw(table, size.jobs, 3, false), 11, worst_gap);
    const double ratio = size.gavel_cpu_s * 1e3 / table_ms;
    std::string line =
        fmt::format("{:>6} {:>9.0f} {:>10.3f}", size.jobs, size.gavel_cpu_s * 1e3, table_ms);
    line += size.gavel_cpu_s > 0 ? fmt::format(" {:>7.0f}x", ratio) : fmt::format(" {:>8}", "-");
    if (size.jobs <= kMostDistinct) {
      line += fmt::format(" {:>12.3f}", median_ms(draw(table, size.jobs, 3, true), 3, worst_gap));
    }
    const bool over = size.gavel_cpu_s > 0 && ratio < kLeastRatio;
    missed |= over;
    fmt::print("{}{}\n", line, over ? fmt::format("  less than {}x", kLeastRatio) : "");
  }
  fmt::print("largest gap to the proved bound: {:.1e}\n", worst_gap);
  return missed ? 1 : 0;
}

}  // namespace
}  // namespace weft

int main() { return weft::run(); }

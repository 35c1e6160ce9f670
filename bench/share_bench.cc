// Time of one share decision of the max-min family against Gavel's own solver (OSDI 2020; cvxpy
// and ECOS), on the same input sizes: 4 jobs for every 3 devices, a third of them of each type,
// jobs drawn from Gavel's measured throughputs. CPU milliseconds, median of the repetitions. Exits
// with 1 when a bar is missed and with 2 when the throughput table is.
//
// "table" jobs have the table's numbers, so many are alike, as in Gavel's measurement. "distinct"
// jobs run up to 20 % faster or slower, each in its own way, as estimates would have it.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/stopwatch.h"
#include "policy/solve/share.h"

namespace weft {
namespace {

constexpr std::array<const char*, 3> kTypes = {"v100", "p100", "k80"};
constexpr const char* kTable = WEFT_SHARED_DATA "/jobs/gavel/simulation_throughputs.json";

struct Size {
  std::size_t jobs;
  double
      gavel_cpu_s;  // max_min_fairness_perf, CPU seconds of one solve, measured on such a machine
  double bar_ms;    // 0: none
};
constexpr Size kSizes[] = {{32, 0.010, 0},  {64, 0.011, 0},   {128, 0.011, 0},  {256, 0.015, 0},
                           {512, 0.026, 0}, {1024, 0.039, 0}, {2048, 0.078, 1}, {4096, 0.17, 0},
                           {8192, 0.39, 0}, {16384, 0.93, 10}};

using Rates = std::array<double, kTypes.size()>;

// The throughputs of every model on one device of each type.
std::vector<Rates> read_table() {
  std::ifstream file(kTable);
  if (!file) return {};
  const nlohmann::json table = nlohmann::json::parse(file);
  std::vector<Rates> models;
  for (const auto& [name, entry] : table.at(kTypes[0]).items()) {
    if (!name.ends_with(", 1)")) continue;
    Rates rates{};
    for (std::size_t t = 0; t < kTypes.size(); ++t) {
      rates[t] = table.at(kTypes[t]).at(name).at("null").get<double>();
    }
    models.push_back(rates);
  }
  return models;
}

ShareProblem draw(const std::vector<Rates>& models, std::size_t jobs, bool distinct) {
  Random random(jobs);
  ShareProblem problem;
  problem.capacity.assign(kTypes.size(), static_cast<double>(jobs) / 4);
  problem.scale.assign(jobs, 1);
  for (std::size_t j = 0; j < jobs; ++j) {
    for (const double rate : models[random.below(models.size())]) {
      problem.throughput.push_back(distinct ? rate * random.uniform(0.8, 1.2) : rate);
    }
  }
  return problem;
}

template <typename F>
double median_ms(std::size_t jobs, F&& run) {
  const std::size_t repetitions = std::clamp<std::size_t>(200'000 / jobs, 11, 501);
  std::vector<double> times;
  for (std::size_t i = 0; i < repetitions; ++i) {
    const double begin = thread_cpu_seconds();
    run();
    times.push_back((thread_cpu_seconds() - begin) * 1e3);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

int run() {
  const std::vector<Rates> models = read_table();
  if (models.empty()) {
    fmt::print(stderr, "share_bench: cannot read {}; it holds Gavel's measured throughputs\n",
               kTable);
    return 2;
  }
  bool missed = false;
  double worst_gap = 0;
  fmt::print("CPU ms per solve, median; {} models x {} types\n", models.size(), kTypes.size());
  fmt::print("{:>6} {:>9} {:>10} {:>8} {:>14} {:>13} {:>10}\n", "jobs", "Gavel ms", "table ms",
             "ratio", "water table ms", "distinct ms", "value ms");
  for (const Size& size : kSizes) {
    const ShareProblem table = draw(models, size.jobs, false);
    const ShareProblem distinct = draw(models, size.jobs, true);
    const auto max_min = [&](const ShareProblem& problem) {
      const ShareResult share = share_max_min(problem, max_min_needs(problem, {}));
      worst_gap = std::max(worst_gap, (share.bound - share.level) / share.bound);
    };
    const double table_ms = median_ms(size.jobs, [&] { max_min(table); });
    const double distinct_ms = median_ms(size.jobs, [&] { max_min(distinct); });
    const double water_ms =
        median_ms(size.jobs, [&] { share_water_filling(table, max_min_needs(table, {})); });
    const double value_ms = median_ms(size.jobs, [&] {
      const ShareValueResult share = share_max_value(distinct, distinct.throughput, {});
      worst_gap = std::max(worst_gap, (share.bound - share.value) / share.bound);
    });
    const bool over = size.bar_ms > 0 && table_ms > size.bar_ms;
    missed |= over;
    fmt::print("{:>6} {:>9.0f} {:>10.3f} {:>7.0f}x {:>14.3f} {:>13.3f} {:>10.3f}{}\n", size.jobs,
               size.gavel_cpu_s * 1e3, table_ms, size.gavel_cpu_s * 1e3 / table_ms, water_ms,
               distinct_ms, value_ms, over ? fmt::format("  above {} ms", size.bar_ms) : "");
  }
  fmt::print("largest gap to the proved bound: {:.1e}\n", worst_gap);
  return missed ? 1 : 0;
}

}  // namespace
}  // namespace weft

int main() { return weft::run(); }

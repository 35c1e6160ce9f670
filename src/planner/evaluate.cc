#include "planner/evaluate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace weft::planner {

Prediction predict(const TrainingRun& run, MemoryTerms terms) {
  Prediction out;
  out.time = step_time({run.model, run.machines, run.framework}, run.layout);
  out.memory = most_memory(run.model, run.framework, run.layout, terms);
  const MemoryUse& m = out.memory;
  switch (run.memory_part) {
    case MemoryPart::kTotal:
      out.memory_part_bytes = m.total();
      break;
    case MemoryPart::kWeights:
      out.memory_part_bytes = m.weights + m.gradients + m.optimizer;
      break;
    case MemoryPart::kActivations:
      out.memory_part_bytes = m.activations;
      break;
  }
  return out;
}

std::vector<Prediction> predict(const std::vector<TrainingRun>& runs, MemoryTerms terms) {
  std::vector<Prediction> out;
  out.reserve(runs.size());
  for (const TrainingRun& run : runs) out.push_back(predict(run, terms));
  return out;
}

double error_pct(double predicted, double measured) { return 100 * (predicted / measured - 1); }

namespace {

ErrorSummary summed(std::string set, std::vector<double> ratios) {
  ErrorSummary s{std::move(set), static_cast<int>(ratios.size())};
  for (const double ratio : ratios) {
    const double error = std::abs(100 * (ratio - 1));
    s.mean_abs_pct += error / static_cast<double>(ratios.size());
    s.max_abs_pct = std::max(s.max_abs_pct, error);
  }
  std::sort(ratios.begin(), ratios.end());
  const std::size_t half = ratios.size() / 2;
  s.median_ratio = ratios.size() % 2 == 1 ? ratios[half] : (ratios[half - 1] + ratios[half]) / 2;
  return s;
}

// `ratio(i)`: predicted over measured of row i, where it has a measurement.
template <typename Ratio>
std::vector<ErrorSummary> by_set(const std::vector<TrainingRun>& runs, Ratio ratio) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<double>> sets;
  std::vector<double> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::optional<double> one = ratio(i);
    if (!one) continue;
    all.push_back(*one);
    if (!sets.contains(runs[i].set)) names.push_back(runs[i].set);
    sets[runs[i].set].push_back(*one);
  }
  std::vector<ErrorSummary> out;
  if (all.empty()) return out;
  out.push_back(summed("all", std::move(all)));
  for (const std::string& name : names) out.push_back(summed(name, sets[name]));
  return out;
}

}  // namespace

std::vector<ErrorSummary> time_errors(const std::vector<TrainingRun>& runs,
                                      const std::vector<Prediction>& predictions) {
  return by_set(runs, [&](std::size_t i) -> std::optional<double> {
    if (!runs[i].measured_s) return std::nullopt;
    return predictions[i].time.total() / *runs[i].measured_s;
  });
}

std::vector<ErrorSummary> memory_errors(const std::vector<TrainingRun>& runs,
                                        const std::vector<Prediction>& predictions) {
  return by_set(runs, [&](std::size_t i) -> std::optional<double> {
    if (!runs[i].measured_memory_bytes) return std::nullopt;
    return predictions[i].memory_part_bytes / *runs[i].measured_memory_bytes;
  });
}

namespace {

struct Pair {
  double predicted = 0, measured = 0;  // seconds per sample
};

double kendall_tau(const std::vector<Pair>& list) {
  double agree = 0, all = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (std::size_t j = i + 1; j < list.size(); ++j) {
      const double sign =
          (list[i].predicted - list[j].predicted) * (list[i].measured - list[j].measured);
      all += 1;
      agree += sign > 0 ? 1 : sign < 0 ? -1 : 0;
    }
  }
  return agree / all;
}

double regret_pct(const std::vector<Pair>& list) {
  const auto chosen = std::min_element(list.begin(), list.end(), [](const Pair& a, const Pair& b) {
    return a.predicted < b.predicted;
  });
  double best = chosen->measured;
  for (const Pair& one : list) best = std::min(best, one.measured);
  return error_pct(chosen->measured, best);
}

}  // namespace

ChoiceSummary choices(const std::vector<TrainingRun>& runs,
                      const std::vector<Prediction>& predictions) {
  constexpr std::size_t kLeast = 3;
  std::map<std::string, std::vector<Pair>> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].measured_s) continue;
    const double batch = runs[i].layout.global_batch;
    groups[fmt::format("{} {} {}", runs[i].set, runs[i].label, runs[i].layout.devices())].push_back(
        {predictions[i].time.total() / batch, *runs[i].measured_s / batch});
  }
  ChoiceSummary out;
  for (const auto& [name, list] : groups) {
    if (list.size() < kLeast) continue;
    const double regret = regret_pct(list);
    ++out.groups;
    out.mean_regret_pct += regret;
    out.max_regret_pct = std::max(out.max_regret_pct, regret);
    out.mean_tau += kendall_tau(list);
  }
  if (out.groups > 0) {
    out.mean_regret_pct /= out.groups;
    out.mean_tau /= out.groups;
  }
  return out;
}

}  // namespace weft::planner

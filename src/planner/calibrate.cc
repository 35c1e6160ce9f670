#include "planner/calibrate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "planner/minimize.h"

namespace weft::planner {
namespace {

constexpr double kMostError = 0.5;  // of one row
// Holds constants that the rows say nothing about where they are.
constexpr double kPull = 2e-4;
constexpr double kFirstStep = 0.25;

// Where a constant stands in a run that has it; null in others.
struct Knob {
  Constant constant;
  double* (*place)(TrainingRun&, const std::string& owner);
  double most;  // largest value that makes sense
};

template <double Framework::*member>
double* in_framework(TrainingRun& run, const std::string& owner) {
  return run.framework.name == owner ? &(run.framework.*member) : nullptr;
}
template <double Device::*member>
double* in_device(TrainingRun& run, const std::string& owner) {
  return run.machines.device.name == owner ? &(run.machines.device.*member) : nullptr;
}
double* network_efficiency(TrainingRun& run, const std::string&) {
  return &run.machines.network.efficiency;
}

void add_framework(std::vector<Knob>& knobs, const std::string& name) {
  knobs.push_back({{name, "host_forward_s", "host time to issue one operation of a forward pass"},
                   in_framework<&Framework::host_forward_s>,
                   1e-3});
  knobs.push_back({{name, "host_backward_s", "host time to issue one operation of a backward pass"},
                   in_framework<&Framework::host_backward_s>,
                   1e-3});
  knobs.push_back({{name, "step_s", "once per step: data, logging, loss scale"},
                   in_framework<&Framework::step_s>,
                   10});
  knobs.push_back(
      {{name, "accumulate_bytes", "memory traffic per weight and micro-batch to add gradients up"},
       in_framework<&Framework::accumulate_bytes>,
       40});
}

// The constants of everything that the rows name.
std::vector<Knob> knobs_of(std::vector<TrainingRun>& runs) {
  std::set<std::string> devices, frameworks;
  for (const TrainingRun& run : runs) {
    devices.insert(run.machines.device.name);
    frameworks.insert(run.framework.name);
  }
  std::vector<Knob> knobs;
  for (const std::string& name : devices) {
    knobs.push_back({{name, "memory_efficiency", "share of the memory's bandwidth reached"},
                     in_device<&Device::memory_efficiency>,
                     1});
  }
  knobs.push_back({{"networks", "network_efficiency", "share of the cards' bandwidth reached"},
                   network_efficiency,
                   1});
  for (const std::string& name : frameworks) add_framework(knobs, name);
  for (Knob& knob : knobs) {
    for (TrainingRun& run : runs) {
      if (const double* at = knob.place(run, knob.constant.owner)) {
        knob.constant.before = knob.constant.after = *at;
        break;
      }
    }
  }
  return knobs;
}

void put(std::vector<TrainingRun>& runs, const std::vector<Knob>& knobs) {
  for (TrainingRun& run : runs) {
    for (const Knob& knob : knobs) {
      if (double* at = knob.place(run, knob.constant.owner)) *at = knob.constant.after;
    }
  }
}

std::vector<Knob> moved(std::vector<Knob> knobs, const std::vector<double>& by) {
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    Constant& c = knobs[i].constant;
    c.after = std::min(knobs[i].most, c.before * std::exp(by[i]));
  }
  return knobs;
}

// Where to start: a constant such as the host's time changes nothing until it is large enough, so
// each is tried far away first, one after the other.
template <typename Loss>
std::vector<double> scanned(const Loss& loss, std::size_t count) {
  constexpr double kFar[] = {-1.4, -0.7, 0.7, 1.4, 2.1};
  std::vector<double> best(count, 0);
  double least = loss(best);
  for (std::size_t i = 0; i < count; ++i) {
    for (const double far : kFar) {
      std::vector<double> other = best;
      other[i] = far;
      const double value = loss(other);
      if (value >= least) continue;
      least = value;
      best = std::move(other);
    }
  }
  return best;
}

// The constants that suit `runs` best.
std::vector<Knob> fitted(std::vector<TrainingRun> runs, const std::vector<Knob>& knobs,
                         int trials) {
  std::map<std::string, double> rows_of;
  for (const TrainingRun& run : runs) rows_of[run.set] += 1;
  const auto loss = [&](const std::vector<double>& by) {
    put(runs, moved(knobs, by));
    double sum = 0;
    for (const TrainingRun& run : runs) {
      const StepTime time = step_time({run.model, run.machines, run.framework}, run.layout);
      const double error = std::abs(time.total() / *run.measured_s - 1);
      sum += std::min(error, kMostError) / rows_of[run.set];
    }
    for (const double one : by) sum += kPull * one * one;
    return sum;
  };
  return moved(knobs, minimize(loss, scanned(loss, knobs.size()), kFirstStep, trials));
}

// Rows of one shape stay together, in whichever table they stand.
std::vector<int> folds_by_model(const std::vector<TrainingRun>& runs, int folds) {
  std::map<std::pair<int, int>, int> number;
  for (const TrainingRun& run : runs) number[{run.model.hidden, run.model.layers}] = 0;
  int next = 0;
  for (auto& [shape, fold] : number) fold = next++ % folds;
  std::vector<int> out;
  for (const TrainingRun& run : runs) out.push_back(number[{run.model.hidden, run.model.layers}]);
  return out;
}

std::vector<ErrorSummary> held_out(const std::vector<TrainingRun>& runs,
                                   const std::vector<Knob>& knobs,
                                   const CalibrateOptions& options) {
  const std::vector<int> fold_of = folds_by_model(runs, options.folds);
  std::vector<TrainingRun> changed = runs;
  for (int fold = 0; fold < options.folds; ++fold) {
    std::vector<TrainingRun> others, mine;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      (fold_of[i] == fold ? mine : others).push_back(runs[i]);
    }
    if (mine.empty() || others.empty()) continue;
    put(mine, fitted(others, knobs, options.trials));
    std::size_t next = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (fold_of[i] == fold) changed[i] = mine[next++];
    }
  }
  return time_errors(changed, predict(changed, MemoryTerms::kOwn));
}

}  // namespace

Result<Calibration> calibrate(std::vector<TrainingRun> runs, const CalibrateOptions& options) {
  std::erase_if(runs, [](const TrainingRun& run) { return !run.measured_s; });
  if (runs.empty()) {
    return Error{ErrorKind::kInvalidInput, "no row has a measured time",
                 "fill in iteration time (ms), or metric and value"};
  }
  const std::vector<Knob> knobs = knobs_of(runs);
  Calibration out;
  out.folds = options.folds;
  out.before = time_errors(runs, predict(runs, MemoryTerms::kOwn));
  out.held_out = held_out(runs, knobs, options);
  const std::vector<Knob> best = fitted(runs, knobs, options.trials);
  put(runs, best);
  out.fit = time_errors(runs, predict(runs, MemoryTerms::kOwn));
  for (const Knob& knob : best) out.constants.push_back(knob.constant);
  return out;
}

}  // namespace weft::planner

// Goodput of elastic data-parallel training: useful steps per second, a step being worth one at the
// job's initial batch size. Goodput is throughput times statistical efficiency (Pollux, OSDI 2021,
// section 3); Sia (SOSP 2023, section 3) keeps one step-time model per device type.
//
// Two sources of step times: a table that was measured (the truth in a simulation) and a model with
// seven parameters, fitted to what a job has shown so far (the belief of a scheduler).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace weft {

// `replicas` data-parallel workers on `nodes` nodes. Requires: 1 <= nodes <= replicas.
struct Gang {
  int nodes = 1;
  int replicas = 1;
};

// One training step. A step that accumulates k extra batches lasts step_s + k * compute_s.
struct StepTime {
  Seconds compute_s = 0;  // forward and backward pass over one local batch
  Seconds step_s = 0;     // the same with the exchange of gradients, as far as it is exposed
};

// Pollux, section 3.2: compute = alpha + beta * local batch; exchange = alpha + beta * (replicas -
// 2) with parameters for links between nodes or inside one; step = (compute^g + exchange^g)^(1/g),
// where overlap g = 1 means one after the other and a large g means hidden behind each other.
struct StepTimeModel {
  double compute_alpha = 0;
  double compute_beta = 0;
  double between_alpha = 0;
  double between_beta = 0;
  double inside_alpha = 0;
  double inside_beta = 0;
  double overlap = 1;
};

StepTime predict(const StepTimeModel& model, Gang gang, double local_batch);

// Squared norm and variance of the gradient at the initial batch size, preconditioned as the
// optimizer does it (Pollux, section 3.1).
struct GradientNoise {
  double squared = 0;
  double variance = 1;
};

// Useful steps made by one step at `scale` times the initial batch size: 1 at scale 1, at most
// scale.
double useful_steps(GradientNoise noise, double scale);

struct BatchLimits {
  int initial = 1;    // total batch size the user would use on one device
  int largest = 1;    // total batch size at which training still converges
  int local_min = 1;  // per replica
  int local_max = 1;  // per replica; what fits in device memory
};

// A batch size split over replicas and accumulation steps. goodput is 0 when nothing is allowed.
struct BatchChoice {
  int local_batch = 0;
  int accumulation = 0;
  double goodput = 0;
};

double goodput(StepTime time, GradientNoise noise, const BatchLimits& limits, int replicas,
               int local_batch, int accumulation);

// The batch size of highest goodput under the model (to about 1 %; goodput is flat there).
// Cost: some 4 evaluations of the model.
BatchChoice best_batch(const StepTimeModel& model, GradientNoise noise, Gang gang,
                       const BatchLimits& limits);

// Splits a given total batch size over the replicas, by the same rules.
BatchChoice split_batch(int total_batch, int replicas, const BatchLimits& limits);

// Step times measured on one device type.
class StepTable {
 public:
  // `placement` lists the replicas on each node in order around the ring, or is empty for a time
  // that holds for any placement of the gang. Requires: times above 0, step_s >= compute_s.
  struct Row {
    std::vector<int> placement;
    Gang gang;
    int local_batch = 1;
    StepTime time;
  };
  explicit StepTable(std::span<const Row> rows);

  // Linear between measured local batch sizes: of this placement (any rotation of the ring) where
  // it was measured, else of gangs with the nearest node counts and equally many replicas per node.
  // Ensures: nothing when local_batch exceeds what was measured there (it did not fit in memory).
  std::optional<StepTime> at(std::span<const int> placement, double local_batch) const;
  std::optional<StepTime> at(Gang gang, double local_batch) const;

  // The largest local batch size for which at() answers.
  int local_max(std::span<const int> placement) const;
  int local_max(Gang gang) const;

 private:
  struct Point {
    double local_batch;
    StepTime time;
  };
  using Curve = std::vector<Point>;  // by local batch
  struct Entry {
    std::uint64_t key;  // placement, or nodes and replicas
    Curve curve;
  };
  struct Part {
    const Curve* curve;
    double weight;
  };
  // At most four curves whose weighted mean answers for a gang or placement.
  struct Blend {
    Part parts[4];
    int count = 0;
  };

  Blend blend(Gang gang) const;
  void blend_level(int nodes, double replicas, double weight, Blend& blend) const;
  Blend blend(std::span<const int> placement) const;
  static std::optional<StepTime> evaluate(const Blend& blend, double local_batch);
  static int local_max(const Blend& blend);

  std::vector<Entry> placements_;
  std::vector<Entry> gangs_;
};

// How gradient noise changes as training goes on, measured at several batch sizes. Progress counts
// useful steps.
class NoiseTable {
 public:
  struct Row {
    double progress;  // at the end of the epoch
    GradientNoise noise;
  };
  struct Run {
    int batch = 1;
    std::vector<Row> epochs;
  };
  // Requires: runs not empty, each with at least one epoch and with progress that rises.
  explicit NoiseTable(std::vector<Run> runs);

  int epochs() const { return static_cast<int>(ends_.size()); }
  int smallest_batch() const { return runs_.front().batch; }
  int largest_batch() const { return runs_.back().batch; }
  // Progress at the end of an epoch. Requires: 0 <= epoch < epochs().
  double end_of(int epoch) const { return ends_[static_cast<std::size_t>(epoch)]; }
  // The epoch that is under way at this progress; epochs() when training is over.
  int epoch_at(double progress) const;
  // Linear between the batch sizes that were measured. Requires: 0 <= epoch < epochs().
  GradientNoise at(int epoch, double batch) const;

 private:
  std::vector<Run> runs_;  // by batch
  std::vector<double> ends_;
};

// An elastic model as measured: step times on every device type, noise over its training, and what
// it takes to restart. This is the truth about a job in a simulation; beliefs are StepTimeModel and
// the noise a job reports.
class Goodput {
 public:
  struct OnType {
    std::string type;  // device type
    StepTable steps;
    BatchLimits limits;
    int devices_per_replica = 1;  // above 1 for pipelines: replicas count pipelines
    double one_replica_rate = 0;  // samples per second of the smallest gang at its largest batch
  };

  std::string name;
  std::vector<OnType> on_types;
  NoiseTable noise;
  int epochs = 1;          // of `noise` until the job ends
  Seconds restart_s = 30;  // to save, move and load after any change of devices
  double slowdown = 1;     // measured on a real cluster against the tables: rates are divided by it

  // Index into on_types, or -1.
  int find_type(std::string_view type) const;
  // Progress at which the job ends.
  double total_progress() const { return noise.end_of(epochs - 1); }
  // Useful steps per second with this batch in this epoch; 0 when the batch does not fit.
  double rate(std::size_t on_type, std::span<const int> placement, const BatchChoice& batch,
              int epoch) const;
  // The batch of highest rate and that rate: what a scheduler would choose who knew everything.
  // Tries some 50 batch sizes in geometric steps, as measured times need not be convex.
  BatchChoice best(std::size_t on_type, std::span<const int> placement, int epoch) const;
};

}  // namespace weft

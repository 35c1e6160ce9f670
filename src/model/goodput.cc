#include "model/goodput.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/check.h"

namespace weft {
namespace {

// Seconds to exchange gradients, if nothing hides it.
double exchange_s(const StepTimeModel& model, Gang gang) {
  const double beyond_two = std::max(gang.replicas - 2, 0);
  if (gang.nodes > 1) return model.between_alpha + model.between_beta * beyond_two;
  if (gang.replicas > 1) return model.inside_alpha + model.inside_beta * beyond_two;
  return 0;
}

// Where goodput peaks in a range of local batches, for a number of accumulation steps.
struct Peak {
  double local_batch;
  bool beyond;  // goodput still rises at the end of the range
};

// With step times A + D b goodput peaks where variance * A = squared * D * scale_per_sample * b^2.
// The model is convex in b, so A and D are those of its tangent at the last guess, within a bracket
// that every guess narrows.
Peak find_peak(const StepTimeModel& model, double exchange, GradientNoise noise,
               double scale_per_sample, int accumulation, double low, double high) {
  double batch = std::sqrt(low * high);
  double rising = low, falling = high;  // bracket
  for (int round = 0; round < 20; ++round) {
    const double compute = model.compute_alpha + model.compute_beta * batch;
    const double u = exchange > 0 ? std::pow(exchange / compute, model.overlap) : 0.0;
    const double stretch = exchange > 0 ? std::pow(1 + u, 1 / model.overlap) : 1.0;
    const double slope = model.compute_beta * (accumulation + stretch / (1 + u));
    const double intercept = compute * (accumulation + stretch) - slope * batch;
    const double cost = noise.squared * slope * scale_per_sample;
    const double tangent = cost > 0 ? std::sqrt(noise.variance * intercept / cost)
                                    : std::numeric_limits<double>::infinity();
    const bool rises = tangent > batch;
    (rises ? rising : falling) = batch;
    if (rises && batch >= high) return {high, true};
    if (!rises && batch <= low) return {low, false};
    if (exchange <= 0) return {std::clamp(tangent, low, high), tangent >= high};
    // Goodput is flat around its peak: 1/64 of the batch size is close enough.
    if (falling < rising * (1 + 1.0 / 64))
      return {rises ? falling : batch, rises && falling >= high};
    double next = std::clamp(tangent, low, high);
    const bool outside = (next <= rising && rising > low) || (next >= falling && falling < high);
    if (outside || round >= 3) next = std::sqrt(rising * falling);
    if (std::abs(next - batch) < batch / 1024) return {batch, false};
    batch = next;
  }
  return {batch, false};
}

}  // namespace

StepTime predict(const StepTimeModel& model, Gang gang, double local_batch) {
  const double compute = model.compute_alpha + model.compute_beta * local_batch;
  const double exchange = exchange_s(model, gang);
  if (exchange <= 0) return {compute, compute};
  const double ratio = std::pow(exchange / compute, model.overlap);
  return {compute, compute * std::pow(1 + ratio, 1 / model.overlap)};
}

double useful_steps(GradientNoise noise, double scale) {
  const double denominator = noise.variance / scale + noise.squared;
  return denominator > 0 ? (noise.variance + noise.squared) / denominator : 1.0;
}

double goodput(StepTime time, GradientNoise noise, const BatchLimits& limits, int replicas,
               int local_batch, int accumulation) {
  const double scale = static_cast<double>(replicas) * local_batch * (accumulation + 1) /
                       static_cast<double>(limits.initial);
  return useful_steps(noise, scale) / (time.step_s + accumulation * time.compute_s);
}

BatchChoice best_batch(const StepTimeModel& model, GradientNoise noise, Gang gang,
                       const BatchLimits& limits) {
  const double exchange = exchange_s(model, gang);
  BatchChoice best;
  for (int accumulation = 0;; ++accumulation) {
    const int parts = gang.replicas * (accumulation + 1);
    const int low = std::max(limits.local_min, (limits.initial + parts - 1) / parts);
    int high = std::min(limits.local_max, limits.largest / parts);
    // One replica sees one gradient per step and cannot tell noise from signal, so it splits any
    // batch above the initial one (as AdaptDL does).
    if (gang.replicas == 1 && accumulation == 0) high = std::min(high, limits.initial);
    if (limits.largest / parts < limits.local_min) return best;
    if (low > high) continue;
    const double scale_per_sample = static_cast<double>(parts) / limits.initial;
    const Peak peak = find_peak(model, exchange, noise, scale_per_sample, accumulation, low, high);
    const int local = std::clamp(static_cast<int>(peak.local_batch + 0.5), low, high);
    const double value =
        goodput(predict(model, gang, local), noise, limits, gang.replicas, local, accumulation);
    if (value <= best.goodput) return best;
    best = {local, accumulation, value};
    if (!peak.beyond) return best;
  }
}

BatchChoice split_batch(int total_batch, int replicas, const BatchLimits& limits) {
  CHECK(total_batch >= 1 && replicas >= 1 && limits.local_max >= 1);
  const int local = (total_batch + replicas - 1) / replicas;
  int accumulation = (local + limits.local_max - 1) / limits.local_max - 1;
  if (replicas == 1 && total_batch > limits.initial) accumulation = std::max(accumulation, 1);
  const int parts = replicas * (accumulation + 1);
  const int part = (local + accumulation) / (accumulation + 1);
  return {std::max(1, std::min(part, limits.largest / parts)), accumulation, 0};
}

namespace {

// Replicas per node as digits of base 16, the ring turned so that the number is smallest; 0 for a
// placement too large to have a key.
std::uint64_t placement_key(std::span<const int> placement) {
  const std::size_t nodes = placement.size();
  if (nodes == 0 || nodes > 16) return 0;
  std::uint64_t smallest = 0;
  for (std::size_t turn = 0; turn < nodes; ++turn) {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < nodes; ++i) {
      const int replicas = placement[(turn + i) % nodes];
      if (replicas < 1 || replicas > 15) return 0;
      key = key << 4 | static_cast<std::uint64_t>(replicas);
    }
    if (turn == 0 || key < smallest) smallest = key;
  }
  return smallest;
}

std::uint64_t gang_key(int nodes, int replicas) {
  return static_cast<std::uint64_t>(nodes) << 32 | static_cast<std::uint64_t>(replicas);
}
int nodes_of(std::uint64_t gang_key) { return static_cast<int>(gang_key >> 32); }
int replicas_of(std::uint64_t gang_key) { return static_cast<int>(gang_key & 0xffffffff); }

struct Mean {
  StepTime sum;
  int count = 0;
  void add(StepTime time) {
    sum.compute_s += time.compute_s;
    sum.step_s += time.step_s;
    ++count;
  }
};
using Means = std::map<std::uint64_t, std::map<int, Mean>>;  // key, then local batch

Gang gang_of(std::span<const int> placement) {
  Gang gang{static_cast<int>(placement.size()), 0};
  for (const int replicas : placement) gang.replicas += replicas;
  return gang;
}

}  // namespace

StepTable::StepTable(std::span<const Row> rows) {
  CHECK(!rows.empty());
  Means placements, gangs;
  for (const Row& row : rows) {
    CHECK(row.gang.nodes >= 1 && row.gang.replicas >= row.gang.nodes && row.time.compute_s > 0);
    const std::uint64_t key = placement_key(row.placement);
    if (key != 0) placements[key][row.local_batch].add(row.time);
    gangs[gang_key(row.gang.nodes, row.gang.replicas)][row.local_batch].add(row.time);
  }
  const auto freeze = [](const Means& means, std::vector<Entry>& entries) {
    for (const auto& [key, by_batch] : means) {
      Entry entry{key, {}};
      for (const auto& [local_batch, mean] : by_batch)
        entry.curve.push_back({static_cast<double>(local_batch),
                               {mean.sum.compute_s / mean.count, mean.sum.step_s / mean.count}});
      entries.push_back(std::move(entry));
    }
  };
  freeze(placements, placements_);
  freeze(gangs, gangs_);
}

// Adds what gangs on exactly `nodes` nodes say about a (fractional) number of replicas.
void StepTable::blend_level(int nodes, double replicas, double weight, Blend& blend) const {
  const auto by_key = [](const Entry& entry, std::uint64_t key) { return entry.key < key; };
  const auto first = std::lower_bound(gangs_.begin(), gangs_.end(), gang_key(nodes, 0), by_key);
  const auto last = std::lower_bound(first, gangs_.end(), gang_key(nodes + 1, 0), by_key);
  auto above = first;
  while (above != last && replicas_of(above->key) < replicas) ++above;
  if (above == last) --above;
  const auto below = above == first || replicas_of(above->key) <= replicas ? above : above - 1;
  const double low = replicas_of(below->key), high = replicas_of(above->key);
  const double share = high > low ? (replicas - low) / (high - low) : 0.0;
  blend.parts[blend.count++] = {&below->curve, weight * (1 - share)};
  if (share > 0) blend.parts[blend.count++] = {&above->curve, weight * share};
}

StepTable::Blend StepTable::blend(Gang gang) const {
  CHECK(gang.nodes >= 1 && gang.replicas >= gang.nodes);
  int below = nodes_of(gangs_.front().key), above = nodes_of(gangs_.back().key);
  const int nodes = std::clamp(gang.nodes, below, above);
  for (const Entry& entry : gangs_) {
    const int level = nodes_of(entry.key);
    if (level <= nodes) below = std::max(below, level);
    if (level >= nodes) above = std::min(above, level);
  }
  const double per_node = static_cast<double>(gang.replicas) / gang.nodes;
  const double share = above > below ? static_cast<double>(nodes - below) / (above - below) : 0.0;
  Blend blend;
  blend_level(below, per_node * below, 1 - share, blend);
  if (share > 0) blend_level(above, per_node * above, share, blend);
  return blend;
}

StepTable::Blend StepTable::blend(std::span<const int> placement) const {
  const std::uint64_t key = placement_key(placement);
  const auto found =
      std::lower_bound(placements_.begin(), placements_.end(), key,
                       [](const Entry& entry, std::uint64_t k) { return entry.key < k; });
  if (key == 0 || found == placements_.end() || found->key != key) return blend(gang_of(placement));
  Blend blend;
  blend.parts[blend.count++] = {&found->curve, 1.0};
  return blend;
}

std::optional<StepTime> StepTable::evaluate(const Blend& blend, double local_batch) {
  StepTime time;
  for (int k = 0; k < blend.count; ++k) {
    const Curve& curve = *blend.parts[k].curve;
    auto above = std::lower_bound(
        curve.begin(), curve.end(), local_batch,
        [](const Point& point, double batch) { return point.local_batch < batch; });
    if (above == curve.end()) return std::nullopt;
    const auto below = above == curve.begin() ? above : above - 1;
    const double width = above->local_batch - below->local_batch;
    const double share = width > 0 ? (local_batch - below->local_batch) / width : 0.0;
    const auto between = [&](double a, double b) { return a + share * (b - a); };
    time.compute_s += blend.parts[k].weight * between(below->time.compute_s, above->time.compute_s);
    time.step_s += blend.parts[k].weight * between(below->time.step_s, above->time.step_s);
  }
  return time;
}

int StepTable::local_max(const Blend& blend) {
  double least = blend.parts[0].curve->back().local_batch;
  for (int k = 1; k < blend.count; ++k)
    least = std::min(least, blend.parts[k].curve->back().local_batch);
  return static_cast<int>(least);
}

std::optional<StepTime> StepTable::at(std::span<const int> placement, double local_batch) const {
  return evaluate(blend(placement), local_batch);
}
std::optional<StepTime> StepTable::at(Gang gang, double local_batch) const {
  return evaluate(blend(gang), local_batch);
}
int StepTable::local_max(std::span<const int> placement) const {
  return local_max(blend(placement));
}
int StepTable::local_max(Gang gang) const { return local_max(blend(gang)); }

NoiseTable::NoiseTable(std::vector<Run> runs) : runs_(std::move(runs)) {
  CHECK(!runs_.empty());
  std::sort(runs_.begin(), runs_.end(),
            [](const Run& a, const Run& b) { return a.batch < b.batch; });
  std::size_t epochs = runs_.front().epochs.size();
  for (const Run& run : runs_) epochs = std::min(epochs, run.epochs.size());
  CHECK(epochs >= 1);
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    double end = runs_.front().epochs[epoch].progress;
    for (const Run& run : runs_) end = std::min(end, run.epochs[epoch].progress);
    CHECK(ends_.empty() || end > ends_.back());
    ends_.push_back(end);
  }
}

int NoiseTable::epoch_at(double progress) const {
  return static_cast<int>(std::upper_bound(ends_.begin(), ends_.end(), progress) - ends_.begin());
}

GradientNoise NoiseTable::at(int epoch, double batch) const {
  const std::size_t row = static_cast<std::size_t>(epoch);
  CHECK(row < ends_.size());
  std::size_t above = 0;
  while (above + 1 < runs_.size() && runs_[above].batch < batch) ++above;
  const std::size_t below = above == 0 || runs_[above].batch <= batch ? above : above - 1;
  const GradientNoise low = runs_[below].epochs[row].noise, high = runs_[above].epochs[row].noise;
  const double width = runs_[above].batch - runs_[below].batch;
  const double share = width > 0 ? (batch - runs_[below].batch) / width : 0.0;
  return {low.squared + share * (high.squared - low.squared),
          low.variance + share * (high.variance - low.variance)};
}

int Goodput::find_type(std::string_view type) const {
  for (std::size_t t = 0; t < on_types.size(); ++t)
    if (on_types[t].type == type) return static_cast<int>(t);
  return -1;
}

double Goodput::rate(std::size_t on_type, std::span<const int> placement, const BatchChoice& batch,
                     int epoch) const {
  const OnType& here = on_types[on_type];
  const int replicas = gang_of(placement).replicas / here.devices_per_replica;
  const std::optional<StepTime> time = here.steps.at(placement, batch.local_batch);
  if (!time || replicas < 1 || batch.local_batch < 1) return 0;
  const double total = static_cast<double>(replicas) * batch.local_batch * (batch.accumulation + 1);
  return goodput(*time, noise.at(epoch, total), here.limits, replicas, batch.local_batch,
                 batch.accumulation) /
         slowdown;
}

BatchChoice Goodput::best(std::size_t on_type, std::span<const int> placement, int epoch) const {
  const OnType& here = on_types[on_type];
  const int replicas = gang_of(placement).replicas / here.devices_per_replica;
  BatchLimits limits = here.limits;
  limits.local_max = std::min(limits.local_max, here.steps.local_max(placement));
  const double least = std::max(limits.initial, limits.local_min * replicas);
  BatchChoice best;
  if (replicas < 1 || least > limits.largest) return best;
  constexpr int kSteps = 49;
  int previous = 0;
  for (int k = 0; k <= kSteps; ++k) {
    const double total = least * std::pow(limits.largest / least, static_cast<double>(k) / kSteps);
    BatchChoice batch = split_batch(static_cast<int>(std::lround(total)), replicas, limits);
    const int parts = batch.local_batch * (batch.accumulation + 1);
    if (parts == previous || batch.local_batch < limits.local_min) continue;
    previous = parts;
    batch.goodput = rate(on_type, placement, batch, epoch);
    if (batch.goodput > best.goodput) best = batch;
  }
  return best;
}

}  // namespace weft

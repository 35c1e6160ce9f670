#include "sync/replica.h"

#include <algorithm>
#include <limits>

#include "sync/outer.h"

namespace weft::sync {
namespace {

constexpr std::size_t kTotals = 3;

template <typename T>
void write_totals(const Action& action, std::span<T> out) {
  out[0] = static_cast<T>(action.weight);
  out[1] = static_cast<T>(action.weight * action.steps);
  // A rank whose work does not count may have no loss.
  out[2] = action.weight > 0 ? static_cast<T>(action.weight * action.loss) : T{0};
}

}  // namespace

Range part_of(std::size_t size, std::uint32_t count, std::uint32_t index) {
  CHECK(index < count);
  const std::size_t each = size / count, over = size % count;
  return {each * index + std::min<std::size_t>(index, over), each + (index < over ? 1 : 0)};
}

template <typename T>
Replica<T>::Replica(const Mode& mode, std::size_t parameters) : mode_(mode), size_(parameters) {
  if (mode.exchange == Exchange::kDeltas || mode.exchange == Exchange::kServers) {
    agreed_.resize(parameters);
  }
  if (mode.exchange != Exchange::kDeltas) return;
  if (needs_momentum(mode.outer)) momentum_.resize(parameters);
  if (needs_second_moment(mode.outer)) second_.resize(parameters);
  if (mode.eager) {
    CHECK(mode.outer.kind != OuterRule::Kind::kAdam);  // its steps do not add up
    for (auto* vector : {&fresh_way_, &own_way_, &own_shift_}) vector->resize(parameters);
    own_momentum_.resize(momentum_.size());
  }
  if (mode.control) {
    control_.resize(parameters);
    own_control_.resize(parameters);
    next_control_.resize(parameters);
  }
}

template <typename T>
std::size_t Replica<T>::contribution_size(const Action& action) const {
  if (action.what != What::kDeltas) return size_ + kTotals;
  const std::size_t part = part_of(size_, mode_.fragments, action.fragment).size;
  return part + control_.size() + kTotals;
}

template <typename T>
void Replica<T>::contribute(const Action& action, std::span<const T> values, std::span<T> out) {
  CHECK(values.size() == size_ && out.size() == contribution_size(action));
  write_totals(action, out.last(kTotals));
  if (action.what != What::kDeltas) {
    const T weight = static_cast<T>(action.weight);
    for (std::size_t i = 0; i < size_; ++i) out[i] = weight > 0 ? weight * values[i] : T{0};
    return;
  }
  const Range part = part_of(size_, mode_.fragments, action.fragment);
  if (mode_.eager) return contribute_eagerly(action, part, values, out);
  double scale = action.weight;
  if (mode_.outer.per_step && action.steps > 0) scale /= action.steps;
  for (std::size_t i = 0; i < part.size; ++i) {
    const std::size_t at = part.from + i;
    out[i] = scale > 0 ? static_cast<T>(scale) * (agreed_[at] - values[at]) : T{0};
  }
  if (control_.empty()) return;
  next_control_ = own_control_;
  if (action.weight > 0) update_control(action, values);
  const T share = static_cast<T>(action.member_weight / action.member_total);
  for (std::size_t i = 0; i < size_; ++i) out[part.size + i] = share * next_control_[i];
}

template <typename T>
void Replica<T>::contribute_eagerly(const Action& action, Range part, std::span<const T> parameters,
                                    std::span<T> out) {
  const T weight = static_cast<T>(action.weight);
  for (std::size_t i = 0; i < part.size; ++i) {
    const std::size_t at = part.from + i;
    if (!action.again) fresh_way_[at] = weight * (agreed_[at] + own_shift_[at] - parameters[at]);
    out[i] = action.again ? own_way_[at] : fresh_way_[at];
  }
}

// Kale, Douillard and Donchev 2025: a rank's outer gradient is the others' of the last round and
// its own of this one. The outer optimizer is linear, so its steps are taken apart: those on the
// averages, which all ranks take alike, a round late, and those on what this rank's own way has
// more than its part of the last average.
template <typename T>
void Replica<T>::apply_eagerly(const Action& action, Range part, std::span<const T> sum,
                               std::span<T> parameters) {
  const auto cut = [&](std::vector<T>& whole) {
    return whole.empty() ? std::span<T>{} : std::span<T>(whole).subspan(part.from, part.size);
  };
  const double weight = action.alone ? action.member_total : totals(sum).weight;
  CHECK(weight > 0);
  const T scale = static_cast<T>(1 / weight);
  std::vector<T> mean(part.size);
  if (!action.alone) {
    for (std::size_t i = 0; i < part.size; ++i) mean[i] = scale * sum[i];
    outer_step<T>(mode_.outer, 1, mean, cut(agreed_), cut(momentum_), {});
  }
  const std::span<T> fresh = cut(fresh_way_), own = cut(own_way_);
  for (std::size_t i = 0; i < part.size; ++i) mean[i] = scale * (fresh[i] - own[i]);
  std::copy(fresh.begin(), fresh.end(), own.begin());
  outer_step<T>(mode_.outer, 1, mean, cut(own_shift_), cut(own_momentum_), {});
  for (std::size_t i = part.from; i < part.from + part.size; ++i) {
    parameters[i] = agreed_[i] + own_shift_[i];
  }
}

// The second of the two updates that Karimireddy et al. 2020 offer: the mean of the gradients along
// the way, with the sum of the learning rates where they have steps × learning rate.
template <typename T>
void Replica<T>::update_control(const Action& action, std::span<const T> parameters) {
  if (action.lr_sum == 0) return;  // no step has moved, so nothing was learned of the gradient
  const T scale = static_cast<T>(1 / action.lr_sum);
  for (std::size_t i = 0; i < size_; ++i) {
    next_control_[i] += scale * (agreed_[i] - parameters[i]) - control_[i];
  }
}

template <typename T>
Totals Replica<T>::totals(std::span<const T> sum) {
  CHECK(sum.size() >= kTotals);
  const std::span<const T> last = sum.last(kTotals);
  return {static_cast<double>(last[0]), static_cast<double>(last[1]), static_cast<double>(last[2])};
}

template <typename T>
void Replica<T>::apply(const Action& action, std::span<const T> sum, std::span<T> values) {
  CHECK(values.size() == size_);
  CHECK(action.alone || sum.size() == contribution_size(action));
  if (mode_.eager && action.what == What::kDeltas) {
    return apply_eagerly(action, part_of(size_, mode_.fragments, action.fragment), sum, values);
  }
  const Totals all = totals(sum);
  if (action.what != What::kDeltas) {
    if (!(all.weight > 0) && action.what == What::kParameters) return;
    const T scale = all.weight > 0 ? static_cast<T>(1 / all.weight) : T{0};
    for (std::size_t i = 0; i < size_; ++i) values[i] = scale * sum[i];
    return;
  }
  const Range part = part_of(size_, mode_.fragments, action.fragment);
  const auto cut = [&](std::vector<T>& whole) {
    return whole.empty() ? std::span<T>{} : std::span<T>(whole).subspan(part.from, part.size);
  };
  if (all.weight > 0) {
    // FedNova (Wang et al. 2020): ways per step, times the mean number of steps.
    const double steps = mode_.outer.per_step ? all.steps / all.weight : 1;
    std::vector<T> mean(part.size);
    for (std::size_t i = 0; i < part.size; ++i) {
      mean[i] = static_cast<T>(steps / all.weight) * sum[i];
    }
    outer_step<T>(mode_.outer, action.lr > 0 ? action.lr : 1, mean, cut(agreed_), cut(momentum_),
                  cut(second_));
  }
  // Every member adds its own control variate, so the mean is right whoever has come or gone.
  for (std::size_t i = 0; i < control_.size(); ++i) control_[i] = sum[part.size + i];
  own_control_ = next_control_;
  const T keep = static_cast<T>(mode_.mixing);
  for (std::size_t i = part.from; i < part.from + part.size; ++i) {
    values[i] = keep > 0 ? keep * values[i] + (1 - keep) * agreed_[i] : agreed_[i];
  }
}

template <typename T>
void Replica<T>::mix(const Action& action, std::span<const std::span<const T>> parameters,
                     std::span<T> values) const {
  CHECK(parameters.size() == action.ranks.size() && action.weights.size() == action.ranks.size());
  for (std::size_t i = 0; i < size_; ++i) {
    T sum = 0;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      sum += static_cast<T>(action.weights[k]) * parameters[k][i];
    }
    values[i] = sum;
  }
}

template <typename T>
void Replica<T>::agree(std::span<const T> parameters) {
  CHECK(parameters.size() == agreed_.size());
  std::copy(parameters.begin(), parameters.end(), agreed_.begin());
}

template <typename T>
void Replica<T>::way(const Action& action, std::span<const T> parameters, Range shard,
                     std::span<T> out) const {
  CHECK(parameters.size() == size_ && out.size() == shard.size && shard.from + shard.size <= size_);
  const T weight = static_cast<T>(action.weight);
  for (std::size_t i = 0; i < shard.size; ++i) {
    out[i] = weight * (agreed_[shard.from + i] - parameters[shard.from + i]);
  }
}

template <typename T>
double Replica<T>::drift(std::span<const T> parameters) const {
  double distance = 0, norm = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const double away = static_cast<double>(parameters[i]) - static_cast<double>(agreed_[i]);
    distance += away * away;
    norm += static_cast<double>(agreed_[i]) * static_cast<double>(agreed_[i]);
  }
  if (distance == 0) return 0;
  return norm > 0 ? distance / norm : std::numeric_limits<double>::infinity();
}

template <typename T>
void Replica<T>::correct(std::span<const T> parameters, std::span<T> gradient) const {
  CHECK(gradient.size() == size_ && parameters.size() == size_);
  if (mode_.proximal > 0) {
    const T mu = static_cast<T>(mode_.proximal);
    for (std::size_t i = 0; i < size_; ++i) gradient[i] += mu * (parameters[i] - agreed_[i]);
  }
  for (std::size_t i = 0; i < control_.size(); ++i) gradient[i] += control_[i] - own_control_[i];
}

template <typename T>
std::vector<typename Replica<T>::Vector> Replica<T>::vectors() {
  return {{"agreed", true, &agreed_},
          {"momentum", true, &momentum_},
          {"second_moment", true, &second_},
          {"control", true, &control_},
          {"own_control", false, &own_control_},
          {"own_way", false, &own_way_},
          {"own_shift", false, &own_shift_},
          {"own_momentum", false, &own_momentum_}};
}

template <typename T>
std::vector<std::vector<T>> reshard_control(const std::vector<std::vector<T>>& old,
                                            std::size_t count) {
  CHECK(!old.empty() && count > 0);
  const std::size_t size = old[0].size(), kept = std::min(old.size(), count);
  std::vector<T> mean(size), shift(size);
  for (std::size_t i = 0; i < size; ++i) {
    double all = 0, left = 0;
    for (std::size_t k = 0; k < old.size(); ++k) {
      all += static_cast<double>(old[k][i]);
      if (k < kept) left += static_cast<double>(old[k][i]);
    }
    mean[i] = static_cast<T>(all / static_cast<double>(old.size()));
    shift[i] =
        static_cast<T>(all / static_cast<double>(old.size()) - left / static_cast<double>(kept));
  }
  std::vector<std::vector<T>> result(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(kept));
  for (auto& own : result) {
    for (std::size_t i = 0; i < size; ++i) own[i] += shift[i];
  }
  result.resize(count, mean);
  return result;
}

template class Replica<float>;
template class Replica<double>;
template std::vector<std::vector<float>> reshard_control(const std::vector<std::vector<float>>&,
                                                         std::size_t);
template std::vector<std::vector<double>> reshard_control(const std::vector<std::vector<double>>&,
                                                          std::size_t);

}  // namespace weft::sync

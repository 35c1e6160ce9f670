// The numbers of one rank beside its parameters: the agreed parameters, the outer optimizer's
// memory and control variates. Carries out what sync/machine.h asks for, except moving bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sync/machine.h"

namespace weft::sync {

// Fragment or shard `index` of `count`: places [from, from + size) of the flat parameters.
struct Range {
  std::size_t from = 0, size = 0;

  bool operator==(const Range&) const = default;
};
Range part_of(std::size_t size, std::uint32_t count, std::uint32_t index);

// T is float or double. `values` below is the flat gradient where the action's `what` is
// kGradients, else the flat parameters.
template <typename T>
class Replica {
 public:
  Replica(const Mode& mode, std::size_t parameters);

  // For kAverage without targets: what this rank adds to the sum over `ranks`. Its last three
  // numbers are the Totals.
  std::size_t contribution_size(const Action& action) const;
  void contribute(const Action& action, std::span<const T> values, std::span<T> out);
  static Totals totals(std::span<const T> sum);
  // For kApply, with the sum. Gradients: `values` becomes the mean gradient, for the user's
  // optimizer. Others: `values` becomes the new parameters. A sum of weight 0 changes nothing
  // (gradients become 0). With action.alone there is no sum.
  void apply(const Action& action, std::span<const T> sum, std::span<T> values);
  // For kApply with targets: what came from each of `ranks`, this rank's own included.
  void mix(const Action& action, std::span<const std::span<const T>> parameters,
           std::span<T> values) const;

  // For kAgree, and for the answer to kExchange after the fresh parameters are in place.
  void agree(std::span<const T> parameters);
  // For kExchange: the way to push, times the action's weight; of a shard [from, from + size).
  void way(const Action& action, std::span<const T> parameters, Range shard,
           std::span<T> out) const;
  // For kVote: squared distance from the agreed parameters, relative to their squared norm.
  double drift(std::span<const T> parameters) const;
  // Before each local optimizer step: the proximal term and the control variates.
  void correct(std::span<const T> parameters, std::span<T> gradient) const;

  // What a checkpoint must hold, empty ones too. `replicated`: the same at all ranks that have
  // applied the same rounds, so that a new rank takes any other's; else it belongs to the rank
  // (reshard_control).
  struct Vector {
    std::string_view name;
    bool replicated = true;
    std::vector<T>* values = nullptr;
  };
  std::vector<Vector> vectors();

 private:
  void update_control(const Action& action, std::span<const T> parameters);
  void contribute_eagerly(const Action& action, Range part, std::span<const T> parameters,
                          std::span<T> out);
  void apply_eagerly(const Action& action, Range part, std::span<const T> sum,
                     std::span<T> parameters);

  Mode mode_;
  std::size_t size_;
  std::vector<T> agreed_, momentum_, second_, control_, own_control_;
  std::vector<T> next_control_;  // contributed, and this rank's own once that is applied
  // Eager: what this rank gave to the average under way, and to the one before it; where it begins
  // a round, beside the agreed parameters, and the outer optimizer's memory of that.
  std::vector<T> fresh_way_, own_way_, own_shift_, own_momentum_;
};

// Control variates for `count` ranks from those of others: the first ranks keep theirs, newcomers
// get the mean, and all are shifted alike so that the mean stays. Requires: at least one old one,
// all of the same size.
template <typename T>
std::vector<std::vector<T>> reshard_control(const std::vector<std::vector<T>>& old,
                                            std::size_t count);

}  // namespace weft::sync

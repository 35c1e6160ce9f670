// What a codec remembers of one tensor (or bucket) from step to step: a plain value that can be
// saved, restored and spread over another number of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/residual.h"

namespace weft::codec {

class Budget;

// Where a state lives. The seed is the same on all ranks: what must be drawn alike everywhere
// (random-k's places) hangs on it alone, what must differ (rounding) also on the rank.
// A matrix among the values of a bucket, row after row.
struct MatrixPlace {
  std::size_t from = 0, rows = 0, cols = 0;
};
struct Place {
  std::uint32_t rank = 0, ranks = 1;
  std::uint64_t seed = 1;
  // In ascending order, none over another; for codecs that are shaped(), when a state is made.
  std::vector<MatrixPlace> matrices = {};
};

struct CodecState {
  std::string codec;     // Codec::text() of the codec that made it
  std::size_t size = 0;  // values of the tensor
  Place place;
  std::uint64_t step = 0;  // finished steps; the caller counts it up when one is over

  // Vectors of which the sum over all ranks matters; the first, if any, is the residual of error
  // feedback. All have `size` values. Where the codec keeps a compact residual there is one vector,
  // after the state was restored or spread, until encode has taken all of it up; then none.
  std::vector<std::vector<float>> local;
  // Vectors that are the same on every rank, such as PowerSGD's Q. Of any length.
  std::vector<std::vector<float>> shared;
  // A compact residual, of `size` values; what `local` has is added to it.
  std::optional<std::vector<std::uint16_t>> compact = {};
  // What this state shares with those of other tensors, for codecs with one budget for all; null:
  // it is alone. Belongs to the caller and is not saved.
  Budget* budget = nullptr;

  bool keeps_residual() const { return compact.has_value() || !local.empty(); }
  // Of a value of the residual from step to step; 0 where there is none.
  std::size_t residual_bytes() const;
  // Gives the state a residual of zeros in this form, or makes an old one fit to be kept in it.
  void keep(ResidualForm form);
  // The residual of values [first, first + count), or none.
  Residual residual(std::size_t first, std::size_t count);
  // All of the residual of these values has been taken up by a compact one.
  void took_up(std::size_t first, std::size_t count);
  // Sets what is remembered of these values alone to 0.
  void forget(std::size_t first, std::size_t count);

  friend bool operator==(const CodecState& a, const CodecState& b);
};

// The same state with all its local vectors as floats: nothing is lost. Cost: one pass.
CodecState widened(CodecState state);

// Bytes of a state and back (layout: docs/codecs.md). Reading checks every number before it is
// used; a state of another version, cut short, with bytes to spare or with a number that is not
// finite is an error. Whether it fits a codec is for Codec::check() to say, before the state is
// used. Cost: one copy.
std::vector<std::byte> save(const CodecState& state);
Result<CodecState> restore(std::span<const std::byte> bytes);

// The states of `ranks` ranks in place of those of all old ranks, after members came or went. The
// sum of each local vector over the ranks stays the same, but for one rounding to float.
// Requires: at least one state and one rank. Ensures: an error when states are not of one codec,
// size, seed and step, or a sum is too large for a float. Cost: one pass over all vectors.
Result<std::vector<CodecState>> spread(std::span<const CodecState> old, std::uint32_t ranks);

// A state that covers only values [first, first + count) of a tensor, as the owner of a part has
// for what it sends back. Shared vectors are copied. Requires: the range lies within the state.
CodecState slice(const CodecState& state, std::size_t first, std::size_t count);

// The inverse: one state from slices that follow each other from the first value on.
// Requires: at least one slice. Ensures: an error when they are not of one codec and seed.
Result<CodecState> join(std::span<const CodecState> slices);

}  // namespace weft::codec

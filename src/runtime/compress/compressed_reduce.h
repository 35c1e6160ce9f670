// Averages buckets of float32 over a group through a codec (codec/codec.h), several at a time.
//
// Opaque codecs: each rank encodes one part for every rank, parts change hands (all to all), the
// owner of a part adds them up in float32 in the order of ranks, encodes the mean and spreads it
// (all-gather): a value is quantised exactly twice. Linear codecs: their rounds as all-reduces and
// broadcasts. "none" is the group's own all-reduce.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/budget.h"
#include "codec/codec.h"
#include "runtime/compress/bucket_state.h"
#include "runtime/compress/crew.h"
#include "runtime/group.h"
#include "sync/replica.h"

namespace weft::runtime {

// What the values of a bucket are.
struct BucketContents {
  std::vector<sync::Range> exact;              // their mean goes around the codec
  std::vector<codec::MatrixPlace> matrices{};  // told to codecs that are shaped()
};

// Thread-safety: average() from any thread; the others while nothing is under way.
class CompressedReduce {
 public:
  // `seed` is the same on all ranks.
  CompressedReduce(std::shared_ptr<Group> group, std::shared_ptr<const codec::Codec> codec,
                   std::uint64_t seed = 1);
  // Waits for what is under way.
  ~CompressedReduce();

  // `data` becomes the mean over the ranks, the same bits on every rank. Calls of one bucket follow
  // each other, those of different buckets are free; a bucket always has the same size. What one
  // rank cannot encode or decode (NaN, infinity, broken bytes) is the same error on every rank,
  // after which the group is whole, `data` and what was to be remembered of this step are unknown,
  // and the step must not be applied. `contents`, the same on every rank, says what
  // `data` holds. Uses streams 2^28 + bucket and 3 · 2^27 + bucket of the group.
  Group::WorkPtr average(std::uint32_t bucket, std::span<float> data, const CallOptions& = {},
                         BucketContents contents = {});

  // Whether the mean of biases and scales of normalisations should go around the codec: they are
  // few, and small beside the matrices with which they would share a block or a threshold. True of
  // codecs with less than 4 bits a value that remember residuals only and are not shaped().
  bool coarse() const;

  // What error feedback has held back of a bucket, in the units of `data`, and forgets all of the
  // bucket. Added to what the same rank gives to the next average, through whatever codec, it keeps
  // the sum over ranks. Empty: nothing is remembered. Requires: codec().movable().
  std::vector<float> take_residual(std::uint32_t bucket);

  const codec::Codec& codec() const { return *codec_; }
  const BucketStates& states() const { return states_; }
  // A copy of what is remembered of a bucket, if anything. Requires: nothing is under way with it.
  std::optional<BucketState> state_of(std::uint32_t bucket) const;

  // This rank's states as bytes.
  std::string save() const;
  // Goes on from what all ranks of some group saved, given by rank; empty ones are of ranks that
  // had nothing. Every rank must be given the same.
  Status restore(const std::vector<std::string>& saved);
  // After the group's members changed, called by all of them: states move to where they belong.
  // What a lost rank remembered is lost. Cost: every rank sees all states once.
  Status regroup();
  // mark() keeps a copy of all states, to which go_back() returns: for steps that are tried again.
  // Cost: a copy of the states.
  void mark() { marked_ = states_; }
  void go_back() { states_ = marked_; }

 private:
  struct Buffers;
  struct Job;

  Status run(Job& job);
  Status run_coded(Job& job, BucketState& state, Buffers& buffers);
  Status run_linear(Job& job, codec::CodecState& state);
  Status run_opaque(Job& job, BucketState& state, Buffers& buffers);
  Result<std::vector<std::uint64_t>> swap_lengths(Job& job, const std::vector<std::uint64_t>& own,
                                                  std::size_t most);
  Status add_up(Job& job, const BucketState& state, Buffers& buffers,
                const std::vector<std::uint64_t>& lengths);
  Status spread_mean(Job& job, BucketState& state, Buffers& buffers, const Status& summed);
  codec::Place place() const;

  const std::shared_ptr<Group> group_;               // shared with whoever else uses it
  const std::shared_ptr<const codec::Codec> codec_;  // shared with other groups' reduces
  const std::uint64_t seed_;
  mutable std::mutex mutex_;  // of the maps, not of their elements
  BucketStates states_, marked_;
  codec::Budget sent_budget_, back_budget_;  // of all buckets: what is sent, and the means
  std::map<std::uint32_t, std::unique_ptr<Buffers>> buffers_;
  Crew crew_;  // last: its tasks use all of the above
};

// What every rank has, by rank, on every rank: strings of any length, "" too.
Result<std::vector<std::string>> gather_strings(Group& group, const std::string& own,
                                                const CallOptions& options);

}  // namespace weft::runtime

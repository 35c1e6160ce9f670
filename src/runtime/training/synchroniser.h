// Keeps the parameters of live ranks together under a synchronisation mode: carries out what
// sync/machine.h asks for around the steps of the user's own optimizer.
//
//   for each step:  before_step(gradient);  the optimizer changes `parameters`;  after_step();
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/compress/compressed_reduce.h"
#include "runtime/group.h"
#include "runtime/training/shard_service.h"
#include "sync/machine.h"
#include "sync/replica.h"

namespace weft::runtime {

struct SyncOptions {
  sync::Mode mode;
  std::shared_ptr<const codec::Codec> codec;  // of gradients, ways or pushes; shared by choice
  std::uint64_t seed = 1;                     // of the codec, the same on all ranks
  double weight = 1;                          // of this rank's work, such as its examples
  std::uint32_t steps = 0;                    // of this rank in a round; 0: the mode's period
  bool agreed = false;                        // all ranks have the same parameters already
};

// Errors of a step are the same on all ranks, but for the death of one. An average that one rank
// could not encode (NaN, infinity) is dropped by all: parameters are the agreed ones again, what
// was done since is lost, and the next step may be taken. After any other error, and under eager
// averages and shard servers after any, steps give the same error until restore().
// Thread-safety: one thread.
class Synchroniser {
 public:
  // Called by all ranks. Makes all parameters those of rank 0, unless they are agreed on.
  // `parameters` stay where they are.
  // An error when mode, codec and group do not go together.
  static Result<std::unique_ptr<Synchroniser>> make(std::shared_ptr<Group> group,
                                                    const SyncOptions& options,
                                                    std::span<float> parameters);
  // The part of make() that needs no group: whether codec and mode go together.
  static Status check(const sync::Mode& mode, const codec::Codec& codec);
  ~Synchroniser();

  // Whether the next before_step() needs the gradient; else it may be given none.
  bool needs_gradient() const;
  // Averages or corrects the gradient, as the mode says.
  Status before_step(std::span<float> gradient, double loss, double lr);
  // The optimizer has changed the parameters. Returns when the next step may begin.
  Status after_step(double loss, double lr);
  // All ranks are about to meet between steps, such as for a checkpoint. With backup workers ranks
  // may come there at different updates: who waits for a step of those who have come is let go.
  // Called by all ranks, the same number of times.
  Status will_meet() { return shards_ ? shards_->will_meet() : Status{}; }
  // Called by all ranks at the end: afterwards no step may be taken. Shard servers serve until
  // then, and all ranks have their parameters; other modes leave the parameters as they are.
  Status finish();

  // For going on with another mode, right after an average that was applied: what the codec still
  // holds back goes into the parameters, the same on all ranks and exactly. Called by all ranks;
  // afterwards no step may be taken. An error where it is not right after an average, or where
  // ranks do not average ways as they are (one fragment, nothing eager, no outer optimizer).
  Status leave();

  const sync::Machine& machine() const { return *machine_; }
  // By how much clocks at this rank's shard differed at most (SSP, backup workers).
  std::uint64_t widest() const { return shards_ ? shards_->widest() : 0; }

  // What this rank would need to go on, as bytes; parameters included, since ranks differ between
  // averages. Requires: nothing but what may be begun again is under way; under shard servers no
  // rank takes a step until all have saved.
  std::string save();
  // Called by all ranks, with what all ranks of some group saved between the same steps, by rank.
  // As many ranks go on where each was. Of another number the first go on with what was theirs,
  // others with that of a rank before them; sums of error feedback and control variates are kept
  // (codec/state.h, sync/replica.h), and shards are put together and dealt out anew.
  Status restore(const std::vector<std::string>& saved);

 private:
  struct Operation;
  struct Saved;
  struct Start;

  Synchroniser(std::shared_ptr<Group> group, const SyncOptions& options,
               std::span<float> parameters);
  Status begin(sync::Machine machine, std::optional<ShardState> shard);
  Status may_step(double lr) const;
  Status ended(Status status);
  Status act(sync::Actions actions);
  Status carry_out(const sync::Action& action);
  Status average(const sync::Action& action);
  Status tell_neighbours(const sync::Action& action);
  Status vote(const sync::Action& action);
  Status exchange(const sync::Action& action);
  Status apply(const sync::Action& action);
  Status finish_first();
  void take_arrived();
  void drop_operations();
  Result<std::shared_ptr<Group>> group_of(const std::vector<std::uint32_t>& ranks);
  Status meet();
  std::size_t place_of_agreed();
  std::vector<float>& agreed();
  BucketStates states_to_save();
  Result<Saved> load(const std::string& bytes) const;
  std::size_t place_for(std::size_t rank, const std::vector<sync::Machine>& machines) const;
  Result<Start> start_from(const std::vector<Saved>& all);
  Status start_shard(const std::vector<Saved>& all, const std::vector<sync::Machine>& machines,
                     Start& start);
  Status start_pushed(const std::vector<Saved>& all, Start& start) const;

  const std::shared_ptr<Group> group_;  // shared with the rest of the program
  const SyncOptions options_;
  const std::span<float> parameters_;
  std::span<float> gradient_;  // during before_step
  sync::Replica<float> replica_;
  std::vector<sync::Member> members_;
  std::optional<sync::Machine> machine_;
  CompressedReduce reduce_;
  std::shared_ptr<Group> points_;  // of messages between pairs; shared with shards_
  std::unique_ptr<ShardService> shards_;
  std::map<std::vector<std::uint32_t>, std::shared_ptr<Group>> subgroups_;
  std::deque<sync::Action> queue_;
  std::deque<std::unique_ptr<Operation>> under_way_;
  bool proceeding_ = false, whole_ = false, gradients_there_ = false;
  Status dropped_;               // why an average was not applied in the step under way
  std::optional<Error> failed_;  // nothing goes on after it
};

}  // namespace weft::runtime

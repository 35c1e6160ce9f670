// One rank of a training job under a synchronisation mode, as a state machine: it is told what
// happened and says what to do. Live ranks and the simulator drive the same machine; the numbers
// themselves are sync/replica.h's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sync/mode.h"

namespace weft::sync {

// A rank of the job.
struct Member {
  std::uint32_t rank = 0;
  double weight = 1;        // of its work: its share of the batch, its number of examples
  std::uint32_t steps = 0;  // local steps of a round; 0: the mode's period
  // When members change, what its machine says of itself:
  std::uint64_t round = 0;  // Machine::round()
  bool joining = false;     // Machine::joining(): new, and takes over the state of another

  bool operator==(const Member&) const = default;
};

// Where a newcomer under shard servers begins to count: the least round of those who are not new.
std::uint64_t newcomer_round(const std::vector<Member>& members);

enum class What : std::uint8_t { kGradients, kDeltas, kParameters };

// What is summed along with every average: each rank adds its weight times 1, steps and loss.
struct Totals {
  double weight = 0, steps = 0, loss = 0;

  bool operator==(const Totals&) const = default;
};

struct Action {
  enum class Kind : std::uint8_t {
    kAverage,   // sum contributions over `ranks`, or, with `targets`, swap with neighbours; then
                // arrived(id). Do not wait for it: a kProceed may follow at once.
    kApply,     // what arrived as `id` is to be applied now
    kExchange,  // push the way since the last exchange to every shard server, get its parameters
                // in return; then answered(id). With backup workers the ballot is told that `step`
                // is ready (sync/straggler.h).
    kVote,      // find the largest drift over `ranks`; then voted(id)
    kAgree,     // the parameters of this moment are the agreed ones (all ranks have the same)
    kAdopt,     // drop the step being taken; copy what rank `from` had when it was told of the new
                // members (parameters, replicated vectors, save()); then adopt(). Comes alone.
    kProceed,   // take the next step: to the gradients only, or `whole`, with the inner optimizer
  };
  Kind kind = Kind::kProceed;
  // Of the operation; the same at all ranks that take part. Groups of a hierarchy, and pairs of
  // neighbours, have the same one at a time: tell them apart by who takes part.
  std::uint64_t id = 0;
  What what = What::kGradients;
  std::uint32_t fragment = 0;          // of Mode::fragments; all of it for gradients and parameters
  std::vector<std::uint32_t> ranks;    // that take part, ascending; of neighbours: those heard from
  std::vector<double> weights;         // only with neighbours: of each of `ranks`
  std::vector<std::uint32_t> targets;  // only with neighbours: who hears from this rank
  double weight = 0;                   // of this rank's contribution; 0: its work does not count
  double member_weight = 0;            // of this rank, whether its work counts or not
  double member_total = 0;             // the sum of those over `ranks`
  std::uint32_t steps = 0;             // that the contribution holds
  double loss = 0;                     // mean over those steps
  double lr = 0;                       // inner learning rate of the last of those steps
  double lr_sum = 0;                   // and the sum over them
  std::uint64_t step = 0;              // kExchange: this rank's clock
  std::uint32_t from = 0;              // kAdopt
  bool again = false;                  // kAverage, eager: of what was contributed last
  bool alone = false;                  // kApply, eager: nothing of the others has arrived yet
  bool whole = false;                  // kProceed

  bool operator==(const Action&) const = default;
};
using Actions = std::vector<Action>;

// Requires of the driver: actions are carried out in order; every event is told at most once; an
// operation with the same id reaches all its ranks or, after a change of members, none that goes
// on. Nothing else is assumed of order or timing between ranks.
// Ensures: kProceed is given exactly when the rank may take its next step. All ranks that are told
// the same results give the same averages in the same order. Cost: O(members) an event.
class Machine {
 public:
  // Requires: `self` is in `members`, ranks ascending. An error when mode and members do not go
  // together.
  static Result<Machine> make(const Mode& mode, std::vector<Member> members, std::uint32_t self,
                              std::uint32_t epoch = 0);

  // In rounds to which it was not chosen this rank takes its steps all the same, and they do not
  // count: for programs whose ranks all take the same number. Not part of save().
  void take_all_steps() { all_steps_ = true; }
  // Comes first, also after restore().
  Actions start();

  struct Step {
    double loss = 0;  // needed by adaptive periods only
    double lr = 0;    // of the inner optimizer; needed with control variates, used by SlowMo
  };
  // The step that the last kProceed asked for is taken.
  Actions stepped(const Step& step);
  Actions arrived(std::uint64_t id, const Totals& totals);
  // `clock` is that of the parameters, which counts with backup workers only: the rank goes on from
  // there, so that updates that were made without it are among its steps and rounds.
  Actions answered(std::uint64_t id, std::uint64_t clock);
  Actions voted(std::uint64_t id, double largest);
  // Operations under way are void; those that are still needed begin anew in the new epoch.
  // Requires: every member's `round` and `joining` are what its own machine says; a new rank is
  // joining. If all are, they begin as new ones do.
  Actions change_members(std::vector<Member> members, std::uint32_t epoch);
  // New weights by member, as when batches are balanced. Requires: nothing under way; told to all
  // ranks after the same round; no backup workers, whose servers weigh.
  void set_weights(const std::vector<double>& weights);
  // Requires: the last action was kAdopt. `saved` is the other rank's save().
  Result<Actions> adopt(std::string_view saved);

  const Mode& mode() const { return mode_; }
  std::uint64_t step() const { return step_; }    // taken by this rank; its clock
  std::uint64_t round() const { return round_; }  // averages applied
  std::uint32_t period() const { return period_; }
  const std::vector<Member>& members() const { return members_; }
  std::uint32_t self() const { return self_; }
  bool waiting() const { return waiting_; }
  bool joining() const { return me().joining; }

  // Text, versioned. Operations under way are not part of it: they begin anew after restore().
  std::string save() const;
  // With any members and any self: what belongs to ranks is made anew from them. The text may be
  // damaged or hostile; then there is an error. Requires: `self` is in `members`.
  static Result<Machine> restore(std::string_view saved, std::vector<Member> members,
                                 std::uint32_t self, std::uint32_t epoch = 0);

  bool operator==(const Machine&) const = default;

 private:
  // An average that was begun and is not applied yet.
  struct Operation {
    Action action;
    std::uint64_t needed = 0;  // the step after which nothing goes on without it
    bool arrived = false;
    Totals totals;

    bool operator==(const Operation&) const = default;
  };
  enum class Pause : std::uint8_t { kNone, kVote, kAnswer, kAdoption };

  Machine() = default;
  void set_members(std::vector<Member> members);
  const Member& me() const;
  std::size_t place() const;  // of this rank among the members
  bool local() const { return mode_.exchange != Exchange::kGradients && step_ >= mode_.warmup; }
  double weight_now() const;
  double weight_of(const std::vector<std::uint32_t>& ranks) const;
  std::uint32_t own_period() const;
  void plan_rounds();
  bool catch_up(Actions& out);
  void resume(Actions& out);
  void pause(Pause why, Action::Kind kind, Actions& out);
  void begin(What what, std::uint32_t fragment, double weight, Actions& out);
  void choose_partners(Action& action) const;
  void begin_due(Actions& out);
  void begin_again(const Action& was, Actions& out);
  bool begun_before(std::uint32_t fragment) const;
  void apply_arrived(Actions& out);
  void adapt(const Totals& totals);
  void go_on(Actions& out);

  Mode mode_;
  std::vector<Member> members_;
  std::vector<std::uint32_t> ranks_;  // theirs, and the sum of their weights
  double total_weight_ = 0;
  std::uint32_t self_ = 0, epoch_ = 0, operations_ = 0;
  std::uint64_t step_ = 0, round_ = 0;
  std::uint32_t period_ = 1;
  std::vector<std::uint64_t> due_;    // by fragment: the step after which it is exchanged
  std::vector<std::uint64_t> since_;  // by fragment: the step after which it was exchanged last
  double loss_sum_ = 0, lr_ = 0, lr_sum_ = 0;  // since since_[0]
  double first_loss_ = 0;                      // of the first average; 0: none yet
  std::vector<Operation> under_way_;           // in order of beginning
  Pause pause_ = Pause::kNone;
  std::uint64_t pause_id_ = 0;
  bool waiting_ = true;  // no kProceed is out
  bool agreed_ = false;  // kAgree was given
  bool all_steps_ = false;
};

}  // namespace weft::sync

// Ranks of different speed: leave the last ones out, or give them less to do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace weft::sync {

// Backup workers (Chen et al. 2016): of n ranks the first n - backup whose steps are there make the
// next update. One rank, the lowest, holds the ballot and tells every shard server what it chose,
// so that a step counts with all shards or with none, and a rank's shards are all of one update.
class Ballot {
 public:
  // `clock`: the update that all shards have made last.
  Ballot(std::uint32_t ranks, std::uint32_t backup, std::uint64_t clock = 0)
      : ranks_(ranks), wanted_(ranks > backup ? ranks - backup : 1), chosen_(clock) {}

  struct Choice {
    std::uint64_t number = 0;          // from 1: the order in which shards carry choices out
    std::uint64_t clock = 0;           // the update that these ranks go on from
    std::vector<std::uint32_t> ranks;  // ascending
    bool late = false;                 // the update was made without these; their steps are dropped

    bool operator==(const Choice&) const = default;
  };
  // `rank` has taken its step towards update `clock`. Ensures: each update once, with exactly
  // ranks - backup steps that all began at the update before it; who comes later is late at once; a
  // repetition while nothing is chosen counts once. Requires: clock <= chosen() + 1.
  std::optional<Choice> ready(std::uint32_t rank, std::uint64_t clock);
  // `rank` takes no step before it has met all others, as for a checkpoint, or none at all. Who has
  // not come as far takes its steps without it: where too few are left for another update they are
  // late, so that nobody waits for steps that will not come.
  std::optional<Choice> meets(std::uint32_t rank);
  std::optional<Choice> ends(std::uint32_t rank);

  std::uint64_t chosen() const { return chosen_; }  // the last update

 private:
  Choice choose(std::set<std::uint32_t> ranks, bool late);
  bool too_few_for(std::uint32_t rank) const;
  std::optional<Choice> let_go();

  std::uint32_t ranks_, wanted_;
  std::uint64_t chosen_, choices_ = 0;
  std::set<std::uint32_t> ready_;                    // for the update after that
  std::map<std::uint32_t, std::uint64_t> meetings_;  // to which a rank has come, if to any
};

// Shares of a global batch proportional to measured speeds (examples per second), by largest
// remainder, at least `least` each. With weights proportional to the shares (Member::weight) the
// averaged gradient is that of the whole batch, however it is shared. Ensures: adds up to `batch`;
// the same arguments give the same shares, so that ranks that have gathered the speeds agree.
// A speed that is not above 0 counts as the slowest of the others; ties go to the lower rank.
// Requires: batch >= least × ranks, ranks >= 1.
std::vector<std::uint32_t> balance_batch(std::span<const double> speeds, std::uint32_t batch,
                                         std::uint32_t least = 1);

}  // namespace weft::sync

// A shard server: a rank that also holds a part of the parameters for SSP, ASP, FedBuff and backup
// workers. Its vector clock, buffer and answers as a state machine; the numbers are the caller's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sync/machine.h"
#include "sync/replica.h"
#include "sync/straggler.h"

namespace weft::sync {

struct ServerAction {
  enum class Kind : std::uint8_t {
    kAdd,      // shard -= scale × the way that just came
    kCollect,  // buffer += scale × the way that just came
    kMove,     // shard -= scale × buffer; buffer = 0
    kKeep,     // put the way that just came by, for `rank`
    kTake,     // shard -= scale × the way that was put by for `rank`
    kAnswer,   // send the shard to `rank`
  };
  Kind kind = Kind::kAdd;
  std::uint32_t rank = 0;
  double scale = 1;
  // With backup workers, of kAnswer: the update that the shard has made, and whether the rank's way
  // was in it or was dropped.
  std::uint64_t clock = 0;
  bool counted = true;

  bool operator==(const ServerAction&) const = default;
};
using ServerActions = std::vector<ServerAction>;

// The clock of a rank is the number of its exchanges, as Action::step says it. A rank gets its
// answer, and so begins its next round, when the slowest rank's clock is at most `bound` behind its
// own: clocks of ranks at work never differ by more (Ho et al. 2013). Every shard keeps this on its
// own, so that it holds for ranks that wait for all shards.
//
// With backup workers a ballot (sync/straggler.h) chooses for all shards. They put ways by and
// carry its choices out in its order, each once all ways that it names are there; ways are added in
// the order of ranks, weighed by the members' weights. So all shards go through the same updates,
// and whatever the delays a rank is answered by all of them with the same one: version().
class ShardServer {
 public:
  ShardServer(const Mode& mode, const std::vector<Member>& members);

  // A way came from `rank`, which thereby reaches `clock`. A clock that was reached before is a
  // repetition: the way is not counted again, the answer is given again.
  // Requires: a member; clock at most one above its last, which the protocol ensures, else an
  // error. Cost: O(log members), and O(members) when the slowest rank's clock moves.
  Result<ServerActions> pushed(std::uint32_t rank, std::uint64_t clock);
  // With backup workers: the ballot has chosen. In any order. Requires: members; each number once.
  Result<ServerActions> chosen(const Ballot::Choice& choice);
  // `rank` has ended and holds nobody up.
  ServerActions left(std::uint32_t rank);
  // Those who left no longer hold others up; newcomers count from the slowest (newcomer_round), and
  // who is not new but not known here from its own round. Who waited for an answer pushes again in
  // the new epoch, which has a new ballot.
  void change_members(const std::vector<Member>& members);
  // With backup workers, after a change of members: the last update that any shard has made. Who
  // has not goes without it, so that all are alike again.
  void settle(std::uint64_t version);

  std::uint64_t slowest() const;
  // How often the shard was changed; with backup workers the clock of its last update.
  std::uint64_t version() const { return version_; }

  std::string save() const;
  // With any members. Requires as change_members.
  static Result<ShardServer> restore(std::string_view saved, const std::vector<Member>& members);

  bool operator==(const ShardServer&) const = default;

 private:
  struct Worker {
    std::uint64_t clock = 0;
    std::uint64_t version = 0;  // of the shard that it has
    bool waiting = false;
    double weight = 1;

    bool operator==(const Worker&) const = default;
  };
  void set_clock(Worker& worker, std::uint64_t clock);
  void forget_clock(std::uint64_t clock);
  void answer_if_near(std::uint32_t rank, Worker& worker, ServerActions& out);
  void answer_ready(ServerActions& out);
  void carry_out_choices(ServerActions& out);
  void update(const Ballot::Choice& choice, ServerActions& out);

  Mode mode_;
  std::map<std::uint32_t, Worker> workers_;
  std::map<std::uint64_t, std::uint32_t> clocks_;  // of the workers, and how many have each
  std::uint64_t version_ = 0;
  std::uint32_t collected_ = 0;
  std::uint64_t carried_out_ = 0;                    // choices
  std::map<std::uint64_t, Ballot::Choice> choices_;  // those to come, by number
};

// What must move when the number of servers changes: shard `from` of the old ones, held by server
// index `from`, gives these places to server index `to`. Only pieces that change hands, ascending.
struct ShardMove {
  std::uint32_t from = 0, to = 0;
  Range places;

  bool operator==(const ShardMove&) const = default;
};
std::vector<ShardMove> reshard(std::size_t size, std::uint32_t servers_before,
                               std::uint32_t servers_after);

}  // namespace weft::sync

// The shard servers of SSP, ASP, FedBuff and backup workers on live ranks: every rank holds one
// shard of the parameters (sync/server.h) and serves it to all, and exchanges its own way with
// every shard. With backup workers rank 0 also holds the ballot (sync/straggler.h), at which a way
// counts as there when its part for rank 0's shard has come: that is sent last.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "codec/codec.h"
#include "runtime/group.h"
#include "sync/server.h"

namespace weft::runtime {

// What a shard is made of, and what the ranks have of it: to go on from.
struct ShardState {
  std::vector<float> shard;
  std::vector<float> buffer;            // of FedBuff, as long as the shard; or empty
  sync::ShardServer server;             // with the members of today
  std::vector<std::vector<float>> has;  // of this shard, by rank
  std::uint64_t answers = 0;            // encoded so far: what is rounded at random hangs on it
};

// At the start, when all ranks have all `parameters`: the part that `rank` serves.
ShardState fresh_shard(const sync::Mode& mode, const std::vector<sync::Member>& members,
                       std::span<const float> parameters, std::size_t rank);

// Ways are encoded with the codec and its error feedback. Fresh parameters go back as the encoded
// difference from what that rank has, so that what one answer does not carry the next one does.
// Thread-safety: exchange() and finish() from one thread.
class ShardService {
 public:
  // Serves from now on. `group` is this service's own; there are `size` parameters, of which the
  // state has the part of this rank (sync::part_of). Requires: an opaque codec; what `state.has` of
  // a rank is what that rank's `agreed` is in exchange().
  ShardService(std::shared_ptr<Group> group, std::shared_ptr<const codec::Codec> codec,
               const sync::Mode& mode, std::size_t size, ShardState state);
  // Without finish() before it breaks the group, since the others still need this shard.
  ~ShardService();

  // Carries out kExchange: pushes the way and gives the fresh parameters, which become `agreed` and
  // `parameters`, and their clock. Where the way was dropped, what error feedback held back of
  // earlier ones is held back again.
  // Requires: the agreed parameters are those of the last exchange, or those at the start.
  Result<std::uint64_t> exchange(const sync::Action& action, const sync::Replica<float>& replica,
                                 std::span<float> agreed, std::span<float> parameters);
  // As Synchroniser::will_meet().
  Status will_meet();
  // Serves until every rank has called it; then all have the parameters of the shards.
  Status finish(std::span<float> parameters);
  bool finished() const { return finished_; }

  // Without `has`, which the ranks know themselves: it is what they have agreed on.
  ShardState state() const;
  // Error feedback of what this rank pushes.
  codec::CodecState& pushed() { return pushed_; }
  // The largest difference between this shard's clocks that was ever seen when a rank was let go
  // on.
  std::uint64_t widest() const;

 private:
  // Tags of messages: a head with clock and length, then so many bytes; a choice of the ballot.
  static constexpr std::uint32_t kPushHead = 1, kPushBody = 2, kAnswerHead = 3, kAnswerBody = 4,
                                 kChoice = 5;
  static constexpr std::uint64_t kHeadWords = 3;  // of an answer
  static constexpr std::uint64_t kGoodbye = ~std::uint64_t{0}, kMeeting = kGoodbye - 1;  // as clock
  // What comes before the bytes of an answer.
  struct Head {
    std::uint64_t clock = 0, size = 0, counted = 0;
  };
  // What this shard has of one rank.
  struct Client {
    std::vector<float> has;   // of the shard; empty without a codec
    std::vector<float> kept;  // a way that waits for a choice; with backup workers
    std::vector<std::byte> answer;
    Head head;
    std::vector<Group::WorkPtr> sends;
    std::uint64_t clock = 0;  // of its last push
  };
  // A choice on its way to the other shards.
  struct Telling {
    std::vector<std::uint64_t> words;
    std::vector<Group::WorkPtr> sends;
  };

  void serve(int rank);
  Status receive_push(int rank, std::uint64_t& clock, std::vector<std::byte>& body);
  void take(int rank, std::uint64_t clock, std::span<const std::byte> body);
  void release(int rank);
  void carry_out(const sync::ServerActions& actions);
  void answer(const sync::ServerAction& action);
  void encode_answer(Client& client);
  void meets(int rank);
  void listen();
  Status hear(std::span<const std::uint64_t> words);
  void tell(const sync::Ballot::Choice& choice);
  Status wait_for_tellings();
  void tell_words(std::vector<std::uint64_t> words);
  Status push(const sync::Action& action, const sync::Replica<float>& replica,
              std::span<const float> parameters);
  Status wait_for_pushes();
  Result<Head> take_answers(std::span<float> agreed);
  Result<Head> take_answer(int rank, std::span<float> agreed);
  void fail(const std::string& why);
  sync::Range shard_of(int rank) const;
  CallOptions patient() const;

  const std::shared_ptr<Group> group_;               // shared: threads use it
  const std::shared_ptr<const codec::Codec> codec_;  // shared with whoever chose it
  const bool plain_;
  const int ranks_, rank_;
  const std::size_t size_;
  const bool backup_;
  codec::CodecState pushed_;
  std::vector<std::vector<std::byte>> letters_;  // that are pushed, by rank
  std::vector<std::array<std::uint64_t, 2>> heads_;
  std::vector<Group::WorkPtr> pushes_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable answered_;
  sync::ShardServer server_;
  std::optional<sync::Ballot> ballot_;  // of rank 0, with backup workers
  std::deque<Telling> tellings_;
  int ended_ = 0;  // ranks
  std::vector<float> shard_, buffer_, way_;
  codec::CodecState answers_;
  std::vector<Client> clients_;
  bool own_answer_ = false;
  std::uint64_t widest_ = 0;
  std::string failure_;
  bool finished_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft::runtime

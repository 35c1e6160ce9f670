// The shard servers of SSP, ASP and FedBuff on live ranks: every rank holds one shard of the
// parameters (sync/server.h) and serves it to all, and exchanges its own way with every shard.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "codec/codec.h"
#include "runtime/group.h"
#include "sync/server.h"

namespace weft::runtime {

// Ways are encoded with the codec and its error feedback. Fresh parameters go back as the encoded
// difference from what that rank has, so that what one answer does not carry the next one does.
// Thread-safety: exchange() and finish() from one thread.
class ShardService {
 public:
  // Serves from now on. `group` is this service's own, and `parameters` are the same on all ranks.
  // Requires: an opaque codec; `clock` is Machine::round(), the same on all ranks.
  ShardService(std::shared_ptr<Group> group, std::shared_ptr<const codec::Codec> codec,
               const sync::Mode& mode, std::span<const float> parameters, std::uint64_t clock);
  // Without finish() before it breaks the group, since the others still need this shard.
  ~ShardService();

  // Carries out kExchange: pushes the way and gives the fresh parameters, which become `agreed` and
  // `parameters`.
  // Requires: the agreed parameters are those of the last exchange, or those at the start.
  Status exchange(const sync::Action& action, const sync::Replica<float>& replica,
                  std::span<float> agreed, std::span<float> parameters);
  // Serves until every rank has called it; then all have the parameters of the shards.
  Status finish(std::span<float> parameters);

  // Error feedback of what this rank pushes.
  codec::CodecState& pushed() { return pushed_; }
  // The largest difference between this shard's clocks that was ever seen when a rank was let go
  // on.
  std::uint64_t widest() const;

 private:
  // What this shard has of one rank.
  struct Client {
    std::vector<float> has;  // of the shard; empty without a codec
    std::vector<std::byte> answer;
    std::uint64_t head[2] = {};
    std::vector<Group::WorkPtr> sends;
    std::uint64_t clock = 0;
    bool waiting = false, gone = false;
  };

  void serve(int rank);
  Status receive_push(int rank, std::uint64_t& clock, std::vector<std::byte>& body);
  void take(int rank, std::uint64_t clock, std::span<const std::byte> body);
  void release(int rank);
  void carry_out(const std::vector<sync::ServerAction>& actions);
  void answer(int rank);
  void encode_answer(Client& client);
  Status push(const sync::Action& action, const sync::Replica<float>& replica,
              std::span<const float> parameters);
  Status take_answers(std::span<float> agreed);
  Status take_answer(int rank, std::span<float> agreed);
  void fail(const std::string& why);
  sync::Range shard_of(int rank) const;
  CallOptions patient() const;

  const std::shared_ptr<Group> group_;               // shared: threads use it
  const std::shared_ptr<const codec::Codec> codec_;  // shared with whoever chose it
  const bool plain_;
  const int ranks_, rank_;
  const std::size_t size_;
  codec::CodecState pushed_;
  std::vector<std::vector<std::byte>> letters_;  // that are pushed, by rank
  std::vector<std::array<std::uint64_t, 2>> heads_;
  std::vector<Group::WorkPtr> pushes_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable answered_;
  sync::ShardServer server_;
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

// Ranks of a training job under a synchronisation mode in simulated time: the machines, the shard
// server and the ballot of the room `sync` that live ranks are driven by, with nothing of their own
// decided here.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "sync/mode.h"

namespace weft {

// Of one rank, as fast in as out. Links meet at one ideal switch.
struct RankLink {
  double bytes_per_s = 0;
  Seconds latency_s = 0;  // of a message between ranks with such links

  auto operator<=>(const RankLink&) const = default;
};

inline constexpr std::uint32_t kMostSyncRanks = 2048;  // machines know each other: n² members
inline constexpr double kMostSyncSteps = 1e8;          // of all ranks

inline constexpr double kPlainValueBytes = 4;  // without a codec

struct SyncTask {
  sync::Mode mode;
  std::uint32_t ranks = 1;
  double parameters = 0;       // values
  double bytes_per_value = 4;  // on the wire, of gradients and ways. Parameters themselves, which
                               // groups and neighbours average, take 4
  // To encode and decode a value that is exchanged, half before it is sent and half after. Delays
  // the exchange, not the next step where that does not wait for it.
  Seconds coding_s_per_value = 0;
  Seconds step_s = 1;           // of computing
  std::vector<double> slow;     // by rank: how many times as long it takes; empty: all 1
  double jitter = 0;            // of every step, relative: sigma of a log-normal factor of mean 1
  std::uint64_t seed = 1;       // of the jitter
  std::vector<RankLink> links;  // by rank
  // Ends when some rank has taken so many steps, or after so much time; 0: not by that.
  std::uint64_t steps = 0;
  Seconds seconds = 0;
  // Synthetic loss that halves in so many steps, for adaptive periods; 0: there is none.
  double loss_half_steps = 0;
};

struct SyncRank {
  std::uint64_t steps = 0;    // after which it was let go on
  double steps_per_s = 0;     // up to the last of those
  Seconds waiting_s = 0;      // of the whole run: not computing
  double bytes_per_step = 0;  // sent, as a rank and as a server
};

struct SyncOutcome {
  std::vector<SyncRank> ranks;
  Seconds time_s = 0;
  // Whenever a rank was let go on, how far it was ahead of the last one: in exchanges under shard
  // servers, as they count, else in steps.
  std::uint64_t widest = 0;
  double bytes_per_step = 0;  // of all ranks by steps of all ranks
  std::string algorithm;      // of the last average over all ranks; empty: there was none
  std::uint64_t events = 0;
};

// An error for a task that cannot be, and for modes that look at what a timing run does not have:
// `lazy` at values, adaptive periods at losses.
Status check_sync(const SyncTask& task);

// The model. A step takes its time. An average begins when its last rank has come and the links of
// all of them are free of earlier ones, and takes what run_schedule() says of the fastest
// all-reduce; nothing of it is hidden behind the computing of the same step. Every rank holds a
// shard, as live ranks do; all shards hear the same and do the same, so that one server stands for
// all of them: it is told when the last part of a way has come. Choices of the ballot are one
// latency on their way. Ways and answers share links as ShardLinks says. Applying takes no time.
// Where a mode draws participants, all ranks take steps, as live ones do.
//
// An error where check_sync() has one.
// Ensures: the same task gives the same outcome. Cost: O(log events) an event and what the machines
// cost; an event is a step, an average, a push, an answer or a neighbour's letter.
Result<SyncOutcome> run_sync(const SyncTask& task);

// The same with and without slow ranks.
struct SyncComparison {
  SyncOutcome even, slowed;
  std::vector<std::uint32_t> others;  // that are not slow
  // Of those, the means.
  double even_steps_per_s = 0, slowed_steps_per_s = 0;
  double waiting = 0;  // share of the slowed run
  double kept() const { return slowed_steps_per_s / even_steps_per_s; }
};
Result<SyncComparison> compare_sync(const SyncTask& task);

}  // namespace weft

// What the exchanges of ranks take on their links; private to sync_run.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "timing/sync_run.h"

namespace weft {

// All-reduces between ranks whose links meet at one ideal switch, by run_schedule(): the fastest of
// the algorithms that live ranks choose from.
class AverageClock {
 public:
  explicit AverageClock(std::vector<RankLink> links) : links_(std::move(links)) {}

  struct Cost {
    std::string algorithm;
    Seconds time_s = 0;
    double sent_bytes = 0;  // by one rank, the mean
  };
  // Cost: that of simulating each algorithm, once for the same bytes among links of the same speed.
  const Cost& cost(const std::vector<std::uint32_t>& ranks, double bytes);

 private:
  Cost simulate(const std::vector<RankLink>& links, double bytes) const;

  std::vector<RankLink> links_;
  std::map<std::pair<std::vector<RankLink>, double>, Cost> known_;
  // The last answer: most averages are like the one before.
  std::vector<std::uint32_t> last_ranks_;
  double last_bytes_ = -1;
  const Cost* last_ = nullptr;
};

// Pushes to shards of which every rank holds one, and answers from them. A rank's way goes out of
// its own link whole, and a part of it into everybody's; with answers it is the other way round.
// Parts, which are small and many, go ahead of ways and answers, so that these have what parts
// leave of a link. Every link carries all that it must; nothing is carried twice.
// Cost: O(different speeds of links) a call, whatever the number of ranks.
class ShardLinks {
 public:
  // `bytes`: of all shards on the wire.
  ShardLinks(const std::vector<RankLink>& links, double bytes);

  // When all that is pushed, or answered, at `now` has come. Requires: time never runs backwards.
  Seconds push(std::uint32_t rank, Seconds now) { return move(rank, now, out_, in_); }
  Seconds answer(std::uint32_t rank, Seconds now) { return move(rank, now, in_, out_); }
  double part_bytes() const { return part_; }  // of one shard
  Seconds latency_s() const { return longest_latency_; }

 private:
  // One direction of every link.
  struct Direction {
    // By speed: when parts leave the link free again, and how long it was busy with them in all.
    struct Parts {
      Seconds free = 0, busy = 0;
    };
    struct Own {
      Seconds free = 0;  // of what this rank alone sends or gets
      Seconds seen = 0;  // of Parts::busy
    };
    std::vector<Parts> parts;
    std::vector<Own> own;  // by rank
  };
  Seconds move(std::uint32_t rank, Seconds now, Direction& own, Direction& parts);

  std::vector<RankLink> links_;
  double part_ = 0;
  Seconds longest_latency_ = 0;
  std::vector<double> speeds_;           // different ones
  std::vector<std::uint32_t> speed_of_;  // by rank: place among them
  Direction out_, in_;
};

}  // namespace weft

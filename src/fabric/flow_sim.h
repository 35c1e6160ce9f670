// Flows in time: each has bytes to move, shares links by max-min, and ends.
#pragma once

#include <vector>

#include "base/indexed_heap.h"
#include "fabric/max_min.h"
#include "fabric/stream_index.h"

namespace weft {

using FlowId = std::uint32_t;

// Flows over the same path with the same rank, weight and cap have one rate and are kept as one
// stream. Time moves only forward, by advance_to(). Cost of a start or an end: O(log flows) and
// what the solver needs for the rates that change.
class FlowSim {
 public:
  explicit FlowSim(std::vector<double> bytes_per_s, double tolerance = 0)
      : solver_(std::move(bytes_per_s), tolerance) {}

  // Starts a flow now. It ends when its bytes are through; a flow of 0 bytes, or without links and
  // cap, ends at once. Latency is the caller's.
  FlowId start(const StreamSpec& spec, double bytes);
  // Takes a flow away before its end. Returns the bytes it had left.
  double stop(FlowId flow);
  void set_capacity(LinkId link, double bytes_per_s) {
    solver_.set_capacity(link, bytes_per_s);
    dirty_ = true;
  }

  Seconds now() const { return now_; }
  // When the next flow ends if nothing changes; kNever: none does.
  Seconds next_end();
  // Moves time to `at`. Requires: now() <= at <= next_end(). Ensures: `ended` holds the flows that
  // end by then; their ids may be given to flows started later.
  void advance_to(Seconds at, std::vector<FlowId>& ended);

  std::size_t running() const { return running_; }
  double rate(FlowId flow);
  double bytes_left(FlowId flow) const;
  const MaxMin& solver() const { return solver_; }

 private:
  static constexpr StreamId kNoStream = UINT32_MAX;
  struct Flow {
    double end = 0;  // in bytes of its stream's `moved`
    StreamId stream = 0;
    bool live = false;
  };
  // Next to the solver's stream of the same id.
  struct Stream {
    double moved = 0;  // bytes that each of its flows has moved by `since`
    double rate = 0;
    Seconds since = 0;
    std::uint64_t key = 0;
    std::vector<FlowId> flows;  // heap by `end`
  };
  struct Later;

  std::uint64_t key_of(const StreamSpec& spec) const;
  void settle();
  void requeue(StreamId id);
  void bring_up(Stream& stream) const {
    stream.moved += stream.rate * (now_ - stream.since);
    stream.since = now_;
  }
  void shrink(StreamId id);

  MaxMin solver_;
  Seconds now_ = 0;
  std::size_t running_ = 0;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_flows_;
  std::vector<FlowId> instant_;  // flows that end where they start
  std::vector<Stream> streams_;
  StreamIndex by_key_;
  IndexedHeap<Seconds> ends_;  // by stream
  bool dirty_ = false;
};

}  // namespace weft

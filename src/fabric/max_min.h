// Shares links among flows: strict ranks, and weighted max-min fairness inside a rank.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/indexed_heap.h"
#include "fabric/topology.h"

namespace weft {

using StreamId = std::uint32_t;

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Equal flows over one path. A lower rank is served first and sees nothing of higher ones. A link
// that stands in the path k times carries k times the flow's rate, so that a bundle of flows that
// keep step (one round of a collective) can be one stream over all their links.
struct StreamSpec {
  std::span<const LinkId> path;
  std::uint32_t rank = 0;
  double weight = 1;        // of each flow, above 0
  double cap = kUnlimited;  // bytes per second of each flow
};

// The rates are exact: on every path with less than its cap there is a link that is full, on which
// no flow of the same rank has more per weight. A change costs time in proportion to what it
// changes, not to the number of flows.
//
// How. Each link has, per rank, a level: the most a flow may have per weight; infinite while the
// link is not full. A flow's rate is its weight times the least level on its path. The level of a
// link depends only on flows whose rate lies below it, so changed links are corrected in ascending
// order of their levels, as Dijkstra's method corrects distances; what is popped from the queue is
// final as far as everything below it is.
class MaxMin {
 public:
  // `tolerance`: levels that would change by no more than this factor are left as they are; 0 for
  // exact rates (to rounding, 1e-13).
  explicit MaxMin(std::vector<double> bytes_per_s, double tolerance = 0);

  // Ensures: rates are up to date only after settle().
  StreamId add(const StreamSpec& spec, std::uint32_t flows = 1);
  // Requires: flows > 0.
  void set_flows(StreamId stream, std::uint32_t flows);
  void set_cap(StreamId stream, double cap);
  void remove(StreamId stream);
  // 0: the link has failed, and what crosses it stands still.
  void set_capacity(LinkId link, double bytes_per_s);

  // The streams whose rate differs from the last settle(), and those added since, each once.
  const std::vector<StreamId>& settle();

  // Bytes per second of each of its flows; infinite without links and cap.
  double rate(StreamId stream) const { return streams_[stream].rate; }
  // Whether the stream's flows are as `spec` says.
  bool carries(StreamId stream, const StreamSpec& spec);
  // Bytes per second that cross the link.
  double load(LinkId link) const;
  double capacity(LinkId link) const { return capacity_[link]; }
  std::size_t link_count() const { return capacity_.size(); }
  // Corrections of levels so far, for tests and tuning.
  std::uint64_t corrections() const { return corrections_; }

 private:
  using SlotId = std::uint32_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint16_t kCapHop = UINT16_MAX;

  // The flows of one rank on one link.
  struct Slot {
    double level = kUnlimited;
    double wanted = kUnlimited;  // what `level` should be
    double load = 0;             // bytes per second
    LinkId link = 0;
    std::uint32_t rank = 0;
    SlotId next = kNone;  // the next rank on the same link
    bool marked = false;  // waits in marked_
    bool stale = false;   // queued for another look once lower ranks are done
    struct Entry {
      double other;   // least level on the stream's path without this link, per weight
      double weight;  // of the stream, times the number of times it crosses the link
      StreamId stream;
      std::uint16_t hop;
      std::uint16_t times;  // that the stream crosses the link
    };
    std::vector<Entry> entries;
  };
  struct Hop {
    SlotId slot;
    std::uint32_t index;  // in the slot's entries
    std::uint32_t times;  // that the stream crosses the link
  };
  struct Stream {
    double low = 0;     // least level on its path or cap, per weight; 0 before the first settle
    double second = 0;  // the least without hop `lowest`
    double weight = 0;  // of all its flows
    double rate = 0;    // of each flow
    double cap_level = 0;
    double unit = 1;  // weight of each flow
    std::uint32_t first_hop = 0;
    std::uint16_t hops = 0;
    std::uint16_t lowest = kCapHop;
    std::uint32_t flows = 0;
    bool changed = false;
  };
  using QueueKey = std::pair<std::uint32_t, double>;  // rank, level

  SlotId slot_of(LinkId link, std::uint32_t rank);
  void leave_slot(Hop hop);
  void release(SlotId slot);
  double room(const Slot& slot) const;
  void mark(SlotId slot);
  void mark_next(const Slot& slot);
  void evaluate(SlotId slot);
  void evaluate_marked();
  void correct(SlotId slot);
  void rescan(Stream& stream) const;
  void refresh(StreamId id, SlotId cause);
  bool affects(const Slot& slot, double before, double after) const;
  void note_change(StreamId id);
  void start_over();
  bool same(double a, double b) const;
  std::uint32_t take_hops(std::uint16_t count);
  void add_hop(StreamId id, LinkId link, std::uint32_t rank, std::uint32_t times);

  std::vector<double> capacity_;
  std::vector<SlotId> first_slot_;  // by link
  std::vector<Slot> slots_;
  std::vector<SlotId> free_slots_;
  std::vector<Stream> streams_;
  std::vector<StreamId> free_streams_;
  std::vector<Hop> hops_;
  std::vector<std::vector<std::uint32_t>> free_hops_;  // by length
  IndexedHeap<QueueKey> queue_;
  std::vector<SlotId> marked_;
  std::vector<StreamId> changed_, reported_;
  std::vector<LinkId> crossed_;  // scratch of add and carries: the path, sorted when it repeats
  double tolerance_;
  std::uint64_t corrections_ = 0;
};

}  // namespace weft

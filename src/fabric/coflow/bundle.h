// Flows of a coflow that are scheduled as one: what is left of each, and how fast it moves.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/coflow/coflow_trace.h"

namespace weft {

// How a bundle's flows share what the ports give them. kEqual: max-min, every flow alike.
// kProportional: max-min with each flow weighted by the bytes it has left, so that the flows of one
// full port end together.
enum class BundleFill : std::uint8_t { kEqual, kProportional };

// Bytes per second that ports have to give: the uplinks of all ports, then their downlinks.
using PortRoom = std::vector<double>;

// A flow with less than this is done; at a gigabit per second it is the last 1e-10 s.
inline constexpr double kDoneBytes = 1e-2;

// The flows stand in a table of sources x targets. The bundle's links are its sources' uplinks,
// then its targets' downlinks.
struct Bundle {
  std::uint32_t coflow = 0;  // in the trace
  bool pilot = false;        // a sample sent ahead of the rest (schedulers that learn sizes)
  std::uint32_t rows = 0, columns = 0;
  std::vector<std::uint32_t> links;  // index in a PortRoom
  std::vector<double> left;          // bytes, rows x columns
  std::vector<double> link_left;     // sum over the flows of a link, as of the last sum_links()
  bool summed = true;
  std::vector<std::uint32_t> link_flows;
  // One bit for each flow with bytes: by link, `words` words of the links across.
  std::vector<std::uint64_t> alive;
  std::uint32_t words = 0;
  double sent = 0, speed = 0;  // bytes, and bytes per second of all flows together
  std::uint32_t flows_left = 0;

  // What a scheduler asks for: to be called when `sent` reaches this, and not to end before then.
  double wake_sent = kNever;
  Seconds promised = 0;

  // The rate of flow (i, j): base * madd, plus min(level of i, level of j) times 1 or `base`. It
  // stays as it is until the next give_...().
  double madd = 0;            // per second
  std::vector<double> base;   // `left` when the rate was given
  std::vector<double> level;  // by link
  BundleFill fill = BundleFill::kEqual;
  Seconds since = 0;  // the moment of `left`
  double rate(std::size_t i, std::size_t j) const;

  // The least time its busiest link needs with `room` free on each link; kNever: a link with bytes
  // has none.
  Seconds bottleneck(const PortRoom& room) const;
  Seconds bottleneck(double bytes_per_s) const;
};

Bundle make_bundle(const Coflow& coflow, std::uint32_t index, std::uint32_t ports);
// Sums over links and flows anew, after `left` was changed by hand.
void recount(Bundle& bundle);

// Gives every flow the rate at which all end together, at the bottleneck's time, and takes it out
// of `room` (minimum allocation for desired duration: Chowdhury, Zhong, Stoica, "Efficient coflow
// scheduling with Varys", SIGCOMM 2014); at `promised` if that is later. Gives nothing when a link
// has no room.
void give_madd(Bundle& bundle, PortRoom& room);

// Shares what is in `room` among the flows, exactly: every flow ends up behind a full link of
// which no flow has more per weight. Cost: O(flows + links log links) with small constants.
struct FillScratch {
  std::vector<double> room, weight;
  std::vector<std::uint32_t> flows, rows, columns;
  std::vector<std::uint64_t> open;  // bits: rows, then columns
  std::vector<std::pair<double, std::uint32_t>> queue;
};
void give_max_min(Bundle& bundle, BundleFill fill, PortRoom& room, FillScratch& scratch);

// The moment the first of its flows ends at its present rates; kNever: none moves.
Seconds first_end(const Bundle& bundle);
// Moves the flows until `now`. Returns how many ended.
std::uint32_t advance(Bundle& bundle, Seconds now);
// Brings link_left up to date.
void sum_links(Bundle& bundle);

}  // namespace weft

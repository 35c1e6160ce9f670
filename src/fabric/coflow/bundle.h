// Flows of a coflow that are scheduled as one: what is left of each, and how fast it moves.
#pragma once

#include <cstdint>
#include <limits>
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

// Room below this part of what there was is rounding.
inline constexpr double kNoRoom = 1e-12;

// The flows stand in a table of sources x targets. The bundle's links are its sources' uplinks,
// then its targets' downlinks.
//
// Every flow is held by one of its two links: the one that is full and decides its rate. All flows
// that a link holds move by one law, rate = share * left + flat, so a link keeps one clock for
// them: left = scale * (mark - shift), where the mark stays as it is for as long as the link holds
// the flow. Time moves by changing clocks, not flows; only a flow that goes from one link to the
// other, or ends, is touched; and the least mark of a link is the flow that ends first.
struct Bundle {
  struct Clock {
    double scale = 1, shift = 0;
    double share = 0, flat = 0;  // per second; bytes per second. `left` is that of Bundle::since
    double least = std::numeric_limits<double>::infinity();  // of the marks
  };

  std::uint32_t coflow = 0;  // in the trace
  bool pilot = false;        // a sample sent ahead of the rest (schedulers that learn sizes)
  std::uint32_t rows = 0, columns = 0;
  std::vector<std::uint32_t> links;  // index in a PortRoom
  std::vector<double> bytes;         // of each flow at first, rows x columns

  std::vector<double> link_left;  // bytes of a link's flows
  std::vector<double> link_use;   // bytes per second through the link
  std::vector<std::uint32_t> link_flows;
  std::vector<double> link_weight;  // sum of the link's weights
  std::uint32_t flows_left = 0;
  double sent = 0, speed = 0;  // bytes, and bytes per second of all flows together

  // What a scheduler asks for: to be called when `sent` reaches this, and not to end before then.
  double wake_sent = kNever;
  Seconds promised = 0;

  double madd = 0;            // the part of every `share` that is MADD's
  std::vector<Clock> clocks;  // by link
  Seconds since = 0;          // the moment of the clocks

  // By link, then by the links across: row(k) says where they begin. A flow has its mark with the
  // link that holds it and an infinite one with the other; its weight in kEqual with both.
  std::vector<double> marks, weights;
  // The same as one bit for each flow with bytes, in `words` words for each link.
  std::vector<std::uint64_t> alive, held;
  std::uint32_t words = 0;

  bool is_row(std::uint32_t link) const { return link < rows; }
  std::uint32_t across(std::uint32_t link) const { return is_row(link) ? columns : rows; }
  std::uint32_t first_across(std::uint32_t link) const { return is_row(link) ? rows : 0; }
  std::size_t row(std::uint32_t link) const {
    return is_row(link) ? std::size_t{link} * columns : (std::size_t{columns} + link - rows) * rows;
  }
  bool holds(std::uint32_t link, std::uint32_t other) const {
    return (held[std::size_t{link} * words + other / 64] >> (other % 64) & 1) != 0;
  }
  // Of flow (i, j): bytes left and bytes per second.
  double left(std::uint32_t i, std::uint32_t j) const;
  double rate(std::uint32_t i, std::uint32_t j) const;

  // The least time its busiest link needs with `room` free on each link; kNever: a link with bytes
  // has none.
  Seconds bottleneck(const PortRoom& room) const;
  Seconds bottleneck(double bytes_per_s) const;
};

Bundle make_bundle(const Coflow& coflow, std::uint32_t index, std::uint32_t ports);
// Begins anew with the flows in `bytes`.
void recount(Bundle& bundle);
// Gives flow (i, j) these bytes to move and this weight, whether it has ended or not. Requires:
// bytes >= kDoneBytes. Ensures: link_use and rates are as before, to be given anew.
void set_flow(Bundle& bundle, std::uint32_t i, std::uint32_t j, double bytes, double weight);

// Gives every flow the rate at which all end together, at the bottleneck's time, and takes it out
// of `room` (minimum allocation for desired duration: Chowdhury, Zhong, Stoica, "Efficient coflow
// scheduling with Varys", SIGCOMM 2014); at `promised` if that is later. Gives nothing when a link
// has no room.
void give_madd(Bundle& bundle, PortRoom& room);

// Shares what is in `room` among the flows, exactly: every flow ends up behind a full link of
// which no flow has more per weight. Cost: O(links^2) in whole vectors, and the flows that
// come to another link; kProportional: O(flows).
struct FillScratch {
  std::vector<double> room, weight, level, open;
  std::vector<double> table;             // weights of kProportional, as Bundle::weights
  std::vector<std::uint64_t> open_bits;  // rows, then columns
  std::vector<std::uint8_t> lost;        // by link: its least mark has left
  std::vector<std::uint32_t> up, down;   // links that can still hold a flow
  std::vector<std::uint32_t> blocked;    // links without room
};
void give_max_min(Bundle& bundle, BundleFill fill, PortRoom& room, FillScratch& scratch);

// The moment the first of its flows ends at its present rates; kNever: none moves.
Seconds first_end(const Bundle& bundle);
// Moves the flows until `now`. Appends those that ended to `ended`, as i * columns + j.
void advance(Bundle& bundle, Seconds now, std::vector<std::uint32_t>& ended);
// Sums link_left anew, which otherwise goes along with link_use.
void sum_links(Bundle& bundle);

}  // namespace weft

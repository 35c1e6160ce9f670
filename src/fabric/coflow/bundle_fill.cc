#include <algorithm>
#include <bit>

#include "fabric/coflow/bundle.h"
#include "fabric/coflow/link_kernels.h"

namespace weft {
namespace {

// One bundle's max-min: the links with the least room per weight (their level) fill up first, hold
// all flows that no other link holds yet, and leave the links across what their flows do not take.
// Closing a link never lowers a level, and changes only levels across; so all uplinks that lie
// below every downlink can be closed at once, then all downlinks below every uplink, and so on: a
// few turns, where one link at a time would take hundreds.
class Filling {
 public:
  Filling(Bundle& b, BundleFill fill, const PortRoom& room, FillScratch& s)
      : b_(b), proportional_(fill == BundleFill::kProportional), s_(s) {
    const std::size_t n = b.links.size();
    s.room.resize(n);
    for (std::size_t k = 0; k < n; ++k) s.room[k] = room[b.links[k]];
  }

  void run() {
    begin();
    close_blocked();
    double up = look(s_.up), down = look(s_.down);
    while (!s_.up.empty() && !s_.down.empty()) {
      if (up <= down) {
        close_below(s_.up, down);
        down = look(s_.down);
        up = least_level(s_.up);
      } else {
        close_below(s_.down, up);
        up = look(s_.up);
        down = least_level(s_.down);
      }
    }
    for (std::uint32_t k = 0; k < b_.links.size(); ++k) {
      if (s_.lost[k] == 0) continue;
      b_.clocks[k].least = least_of(&b_.marks[b_.row(k)], b_.across(k));
    }
  }

  // Whether a flow can move at all.
  bool any_room() const {
    const auto has_room = [&](std::uint32_t from, std::uint32_t to) {
      for (std::uint32_t k = from; k < to; ++k) {
        if (b_.link_flows[k] > 0 && s_.room[k] > 0) return true;
      }
      return false;
    };
    return has_room(0, b_.rows) && has_room(b_.rows, static_cast<std::uint32_t>(b_.links.size()));
  }

 private:
  void begin() {
    const auto n = static_cast<std::uint32_t>(b_.links.size());
    s_.weight = b_.link_weight;
    if (proportional_) weigh();
    s_.open.assign(n, 0);
    s_.open_bits.assign(2 * std::size_t{b_.words}, 0);
    s_.lost.assign(n, 0);
    s_.level.resize(n);
    s_.up.clear();
    s_.down.clear();
    for (std::uint32_t k = 0; k < n; ++k) {
      b_.clocks[k].share = b_.madd;
      b_.clocks[k].flat = 0;
      if (b_.link_flows[k] == 0) continue;
      s_.open[k] = 1;
      s_.open_bits[side(k) + own(k) / 64] |= std::uint64_t{1} << (own(k) % 64);
      (b_.is_row(k) ? s_.up : s_.down).push_back(k);
    }
  }

  // Brings the levels of one side up to date, without the links that have no flow left to hold.
  // Returns the least.
  double look(std::vector<std::uint32_t>& side) {
    std::erase_if(side, [&](std::uint32_t k) { return !has_open(k); });
    for (std::uint32_t k : side) {
      // Counts are exact; bytes are not, and a difference of large ones would hide small ones.
      if (proportional_) s_.weight[k] = weight_of_open(s_.table, k);
      s_.level[k] = s_.room[k] / s_.weight[k];
    }
    return least_level(side);
  }

  double least_level(const std::vector<std::uint32_t>& side) const {
    double least = kInfinity;
    for (std::uint32_t k : side) least = std::min(least, s_.level[k]);
    return least;
  }

  void close_below(std::vector<std::uint32_t>& side, double bound) {
    std::erase_if(side, [&](std::uint32_t k) {
      if (s_.level[k] > bound) return false;
      close(k, s_.level[k]);
      return true;
    });
  }

  std::uint32_t own(std::uint32_t k) const { return k - (b_.is_row(k) ? 0 : b_.rows); }
  std::size_t side(std::uint32_t k) const { return b_.is_row(k) ? 0 : b_.words; }
  std::uint64_t* open_across(std::uint32_t k) const {
    return &s_.open_bits[b_.is_row(k) ? b_.words : 0];
  }

  bool has_open(std::uint32_t k) const {
    const std::uint64_t* open = open_across(k);
    const std::uint64_t* alive = &b_.alive[std::size_t{k} * b_.words];
    std::uint64_t any = 0;
    for (std::uint32_t w = 0; w < b_.words; ++w) any |= alive[w] & open[w];
    return any != 0;
  }

  // Every flow weighs what it has left.
  void weigh() {
    s_.table.assign(b_.marks.size(), 0);
    for (std::uint32_t k = 0; k < b_.links.size(); ++k) {
      const Bundle::Clock& clock = b_.clocks[k];
      const std::size_t row = b_.row(k);
      for (std::uint32_t w = 0; w < b_.words; ++w) {
        for (std::uint64_t bits = b_.held[std::size_t{k} * b_.words + w]; bits != 0;
             bits &= bits - 1) {
          const std::uint32_t other = 64 * w + static_cast<std::uint32_t>(std::countr_zero(bits));
          const double left = clock.scale * (b_.marks[row + other] - clock.shift);
          s_.table[row + other] = left;
          s_.table[b_.row(b_.first_across(k) + other) + own(k)] = left;
        }
      }
    }
  }

  void close(std::uint32_t k, double level) {
    (proportional_ ? b_.clocks[k].share : b_.clocks[k].flat) += level;
    hold(k);
    take(k, level);
    s_.room[k] = 0;
  }

  // Links without room are full from the start. There may be many, with few others: then what is
  // open of those is counted anew instead of taking away one full link after the other.
  void close_blocked() {
    s_.blocked.clear();
    for (auto* side : {&s_.up, &s_.down}) {
      std::erase_if(*side, [&](std::uint32_t k) {
        if (s_.room[k] > 0) return false;
        s_.blocked.push_back(k);
        return true;
      });
    }
    const bool count = s_.up.size() + s_.down.size() < s_.blocked.size();
    for (std::uint32_t k : s_.blocked) {
      hold(k);
      if (!count && !proportional_) take(k, 0);
    }
    if (!count || proportional_) return;
    for (auto* side : {&s_.up, &s_.down}) {
      for (std::uint32_t k : *side) s_.weight[k] = weight_of_open(b_.weights, k);
    }
  }

  double weight_of_open(const std::vector<double>& table, std::uint32_t k) const {
    return open_weight(&table[b_.row(k)], &s_.open[b_.first_across(k)], b_.across(k));
  }

  void take(std::uint32_t k, double level) {
    const std::uint32_t first = b_.first_across(k);
    take_from_across(level, (proportional_ ? s_.table : b_.weights).data() + b_.row(k),
                     &s_.open[first], b_.across(k), &s_.room[first], &s_.weight[first]);
  }

  // All flows that no link holds yet are link k's.
  void hold(std::uint32_t k) {
    s_.open[k] = 0;
    s_.open_bits[side(k) + own(k) / 64] &= ~(std::uint64_t{1} << (own(k) % 64));
    const std::uint64_t* open = open_across(k);
    for (std::uint32_t w = 0; w < b_.words; ++w) {
      const std::size_t word = std::size_t{k} * b_.words + w;
      for (std::uint64_t bits = b_.alive[word] & open[w] & ~b_.held[word]; bits != 0;
           bits &= bits - 1) {
        take_over(k, 64 * w + static_cast<std::uint32_t>(std::countr_zero(bits)));
      }
    }
  }

  // The flow to `other` is held by link k from now on.
  void take_over(std::uint32_t k, std::uint32_t other) {
    const std::uint32_t from = b_.first_across(k) + other, mine = own(k);
    Bundle::Clock& old = b_.clocks[from];
    Bundle::Clock& now = b_.clocks[k];
    double& mark = b_.marks[b_.row(from) + mine];
    if (mark <= old.least) s_.lost[from] = 1;
    const double left = old.scale * (mark - old.shift);
    mark = kInfinity;
    const double mine_now = left / now.scale + now.shift;
    b_.marks[b_.row(k) + other] = mine_now;
    now.least = std::min(now.least, mine_now);
    b_.held[std::size_t{from} * b_.words + mine / 64] &= ~(std::uint64_t{1} << (mine % 64));
    b_.held[std::size_t{k} * b_.words + other / 64] |= std::uint64_t{1} << (other % 64);
  }

  Bundle& b_;
  bool proportional_;
  FillScratch& s_;
};

}  // namespace

void give_max_min(Bundle& b, BundleFill fill, PortRoom& room, FillScratch& scratch) {
  Filling filling(b, fill, room, scratch);
  if (!filling.any_room()) {
    for (Bundle::Clock& clock : b.clocks) clock.share = b.madd, clock.flat = 0;
    return;
  }
  filling.run();
  for (std::size_t k = 0; k < b.links.size(); ++k) {
    double& at = room[b.links[k]];
    at = scratch.room[k] > kNoRoom * at ? scratch.room[k] : 0;
  }
}

}  // namespace weft

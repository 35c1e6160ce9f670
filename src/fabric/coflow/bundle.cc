#include "fabric/coflow/bundle.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/check.h"

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Room below this part of what the fill began with is rounding.
constexpr double kNoRoom = 1e-12;
// Levels closer together than this are one level.
constexpr double kSameLevel = 1 + 1e-13;

}  // namespace

Seconds Bundle::bottleneck(const PortRoom& room) const {
  Seconds longest = 0;
  for (std::size_t k = 0; k < links.size(); ++k) {
    if (link_flows[k] == 0) continue;
    if (room[links[k]] <= 0) return kNever;
    longest = std::max(longest, link_left[k] / room[links[k]]);
  }
  return longest;
}

Seconds Bundle::bottleneck(double bytes_per_s) const {
  return *std::max_element(link_left.begin(), link_left.end()) / bytes_per_s;
}

Bundle make_bundle(const Coflow& coflow, std::uint32_t index, std::uint32_t ports) {
  Bundle bundle;
  bundle.coflow = index;
  bundle.rows = static_cast<std::uint32_t>(coflow.sources.size());
  bundle.columns = static_cast<std::uint32_t>(coflow.targets.size());
  bundle.links = coflow.sources;
  for (PortId port : coflow.targets) bundle.links.push_back(ports + port);
  bundle.left = coflow.bytes;
  bundle.level.assign(bundle.links.size(), 0);
  recount(bundle);
  return bundle;
}

void recount(Bundle& b) {
  b.words = (std::max(b.rows, b.columns) + 63) / 64;
  b.alive.assign(b.links.size() * b.words, 0);
  b.link_left.assign(b.links.size(), 0);
  b.link_flows.assign(b.links.size(), 0);
  b.summed = true;
  b.flows_left = 0;
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    for (std::uint32_t j = 0; j < b.columns; ++j) {
      double& left = b.left[std::size_t{i} * b.columns + j];
      if (left < kDoneBytes) left = 0;
      const std::uint32_t one = left > 0;
      b.link_left[i] += left;
      b.link_left[b.rows + j] += left;
      b.link_flows[i] += one;
      b.link_flows[b.rows + j] += one;
      b.flows_left += one;
      if (one == 0) continue;
      b.alive[std::size_t{i} * b.words + j / 64] |= std::uint64_t{1} << (j % 64);
      b.alive[std::size_t{b.rows + j} * b.words + i / 64] |= std::uint64_t{1} << (i % 64);
    }
  }
}

double Bundle::rate(std::size_t i, std::size_t j) const {
  const std::size_t at = i * columns + j;
  if (left[at] <= 0) return 0;
  const double shared = std::min(level[i], level[rows + j]);
  if (base.empty()) return shared;
  return (madd > 0 ? base[at] * madd : 0) +
         (fill == BundleFill::kProportional ? base[at] * shared : shared);
}

void give_madd(Bundle& bundle, PortRoom& room) {
  sum_links(bundle);
  const Seconds duration = std::max(bundle.bottleneck(room), bundle.promised - bundle.since);
  bundle.madd = 0;
  if (duration == kNever || duration <= 0) return;
  bundle.madd = 1 / duration;
  bundle.base = bundle.left;
  for (std::size_t k = 0; k < bundle.links.size(); ++k) {
    double& at = room[bundle.links[k]];
    const double after = at - bundle.link_left[k] / duration;
    at = after > kNoRoom * at ? after : 0;
  }
}

namespace {

// One bundle's max-min: the links with the least room per weight fill up first and leave the others
// what their flows do not take. Closing a link never lowers the level of another, so a queue of
// levels that may be out of date, and are looked at again when they come up, finds the least.
class Filling {
 public:
  Filling(Bundle& b, BundleFill fill, const PortRoom& room, FillScratch& s)
      : b_(b), proportional_(fill == BundleFill::kProportional), s_(s) {
    const std::size_t n = b.links.size();
    s.room.resize(n);
    s.weight.assign(n, 0);
    s.flows.assign(n, 0);
    s.rows.clear();
    s.columns.clear();
    for (std::uint32_t k = 0; k < n; ++k) {
      s.room[k] = room[b.links[k]];
      const bool open = b.link_flows[k] > 0 && s.room[k] > 0;
      b.level[k] = open || b.link_flows[k] == 0 ? kInfinity : 0;
      if (open) (k < b.rows ? s.rows : s.columns).push_back(k);
    }
  }

  // Whether anything can move.
  bool run() {
    if (s_.rows.empty() || s_.columns.empty()) return false;
    if (proportional_) {
      weigh();
    } else {
      count();
    }
    make_queue();
    while (!s_.queue.empty()) {
      std::pop_heap(s_.queue.begin(), s_.queue.end(), std::greater<>());
      const std::uint32_t k = s_.queue.back().second;
      s_.queue.pop_back();
      if (s_.flows[k] == 0) continue;
      const double level = s_.room[k] / s_.weight[k];
      if (!s_.queue.empty() && level > s_.queue.front().first * kSameLevel) {
        s_.queue.emplace_back(level, k);
        std::push_heap(s_.queue.begin(), s_.queue.end(), std::greater<>());
        continue;
      }
      close(k, level);
    }
    return true;
  }

 private:
  void weigh() {
    for (std::uint32_t i : s_.rows) {
      const double* left = &b_.left[std::size_t{i} * b_.columns];
      double weight = 0;
      std::uint32_t flows = 0;
      for (std::uint32_t column : s_.columns) {
        const double bytes = left[column - b_.rows];
        const std::uint32_t one = bytes > 0;
        weight += bytes;
        flows += one;
        s_.weight[column] += bytes;
        s_.flows[column] += one;
      }
      s_.weight[i] = weight;
      s_.flows[i] = flows;
    }
  }

  // As weigh(), where every flow weighs 1: flows to links that are not open do not count.
  void count() {
    s_.open.assign(2 * std::size_t{b_.words}, 0);
    for (std::uint32_t i : s_.rows) s_.open[i / 64] |= std::uint64_t{1} << (i % 64);
    for (std::uint32_t k : s_.columns) {
      const std::uint32_t j = k - b_.rows;
      s_.open[b_.words + j / 64] |= std::uint64_t{1} << (j % 64);
    }
    for (const auto* side : {&s_.rows, &s_.columns}) {
      const std::uint64_t* across = &s_.open[side == &s_.rows ? b_.words : 0];
      for (std::uint32_t k : *side) {
        const std::uint64_t* alive = &b_.alive[std::size_t{k} * b_.words];
        std::uint32_t flows = 0;
        for (std::uint32_t w = 0; w < b_.words; ++w) {
          flows += static_cast<std::uint32_t>(std::popcount(alive[w] & across[w]));
        }
        s_.flows[k] = flows;
        s_.weight[k] = flows;
      }
    }
  }

  void make_queue() {
    s_.queue.clear();
    for (const auto* side : {&s_.rows, &s_.columns}) {
      for (std::uint32_t k : *side) {
        if (s_.flows[k] > 0) s_.queue.emplace_back(s_.room[k] / s_.weight[k], k);
      }
    }
    std::make_heap(s_.queue.begin(), s_.queue.end(), std::greater<>());
  }

  void close(std::uint32_t k, double level) {
    b_.level[k] = level;
    s_.room[k] = 0;
    s_.flows[k] = 0;
    const bool row = k < b_.rows;
    if (!proportional_) {
      close_equal(k, row, level);
      return;
    }
    const double* left = row ? &b_.left[std::size_t{k} * b_.columns] : &b_.left[k - b_.rows];
    const std::size_t stride = row ? 1 : b_.columns;
    const std::uint32_t first = row ? b_.rows : 0;
    for (std::uint32_t other : row ? s_.columns : s_.rows) {
      const double bytes = left[(other - first) * stride];
      if (bytes <= 0 || s_.flows[other] == 0) continue;
      s_.room[other] = std::max(0.0, s_.room[other] - bytes * level);
      s_.weight[other] -= bytes;
      --s_.flows[other];
    }
  }

  void close_equal(std::uint32_t k, bool row, double level) {
    const std::uint32_t mine = row ? k : k - b_.rows;
    s_.open[(row ? 0 : b_.words) + mine / 64] &= ~(std::uint64_t{1} << (mine % 64));
    const std::uint64_t* across = &s_.open[row ? b_.words : 0];
    const std::uint64_t* alive = &b_.alive[std::size_t{k} * b_.words];
    const std::uint32_t first = row ? b_.rows : 0;
    for (std::uint32_t w = 0; w < b_.words; ++w) {
      for (std::uint64_t bits = alive[w] & across[w]; bits != 0; bits &= bits - 1) {
        const std::uint32_t other =
            first + 64 * w + static_cast<std::uint32_t>(std::countr_zero(bits));
        s_.room[other] = std::max(0.0, s_.room[other] - level);
        s_.weight[other] -= 1;
        --s_.flows[other];
      }
    }
  }

  Bundle& b_;
  bool proportional_;
  FillScratch& s_;
};

}  // namespace

void give_max_min(Bundle& b, BundleFill fill, PortRoom& room, FillScratch& scratch) {
  b.fill = fill;
  if (!Filling(b, fill, room, scratch).run()) {
    std::fill(b.level.begin(), b.level.end(), 0.0);
    return;
  }
  if (fill == BundleFill::kProportional) b.base = b.left;
  for (std::size_t k = 0; k < b.links.size(); ++k) {
    double& at = room[b.links[k]];
    at = scratch.room[k] > kNoRoom * at ? scratch.room[k] : 0;
  }
}

}  // namespace weft

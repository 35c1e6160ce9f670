#include <algorithm>
#include <bit>

#include "fabric/coflow/bundle.h"
#include "fabric/coflow/link_kernels.h"

namespace weft {
namespace {

// Below this a clock's scale is begun anew, long before it leaves the range of numbers.
constexpr double kSmallScale = 1e-100;
// And below this part of a scale that is left after a move.
constexpr double kSmallPart = 1e-9;

std::uint64_t bit(std::uint32_t at) { return std::uint64_t{1} << (at % 64); }

// A flow has ended: neither of its links has it any more.
void bury(Bundle& b, std::uint32_t link, std::uint32_t other, double left) {
  const std::uint32_t mine = link - (b.is_row(link) ? 0 : b.rows);
  const std::uint32_t across = b.first_across(link) + other;
  const std::size_t here = b.row(link) + other, there = b.row(across) + mine;
  b.held[std::size_t{link} * b.words + other / 64] &= ~bit(other);
  b.alive[std::size_t{link} * b.words + other / 64] &= ~bit(other);
  b.alive[std::size_t{across} * b.words + mine / 64] &= ~bit(mine);
  b.marks[here] = kInfinity;
  for (const std::uint32_t k : {link, across}) {
    b.link_weight[k] -= b.weights[here];
    b.link_left[k] = --b.link_flows[k] > 0 ? b.link_left[k] - left : 0;
  }
  b.weights[here] = b.weights[there] = 0;
  --b.flows_left;
}

// The flows that `link` holds, one after the other: what each has left decides whether it ends, and
// with `part` and `flat` what it has after a move that the clock does not show.
void settle(Bundle& b, std::uint32_t link, double part, double flat, bool anew,
            std::vector<std::uint32_t>& ended) {
  Bundle::Clock& clock = b.clocks[link];
  double* marks = &b.marks[b.row(link)];
  clock.least = kInfinity;
  for (std::uint32_t w = 0; w < b.words; ++w) {
    for (std::uint64_t bits = b.held[std::size_t{link} * b.words + w]; bits != 0;
         bits &= bits - 1) {
      const std::uint32_t other = 64 * w + static_cast<std::uint32_t>(std::countr_zero(bits));
      const double left = clock.scale * (marks[other] - clock.shift) * part - flat;
      if (left < kDoneBytes) {
        bury(b, link, other, left);
        ended.push_back(b.is_row(link) ? link * b.columns + other
                                       : other * b.columns + link - b.rows);
        continue;
      }
      if (anew) marks[other] = left;
      clock.least = std::min(clock.least, marks[other]);
    }
  }
  if (anew) clock.scale = 1, clock.shift = 0;
}

bool moves(const Bundle::Clock& clock) {
  return clock.least < kInfinity && (clock.share > 0 || clock.flat > 0);
}

}  // namespace

double Bundle::left(std::uint32_t i, std::uint32_t j) const {
  if ((alive[std::size_t{i} * words + j / 64] >> (j % 64) & 1) == 0) return 0;
  const std::uint32_t link = holds(i, j) ? i : rows + j;
  const double mark = marks[row(link) + (link == i ? j : i)];
  return clocks[link].scale * (mark - clocks[link].shift);
}

double Bundle::rate(std::uint32_t i, std::uint32_t j) const {
  const double now = left(i, j);
  if (now <= 0) return 0;
  const Clock& clock = clocks[holds(i, j) ? i : rows + j];
  return clock.share * now + clock.flat;
}

Seconds first_end(const Bundle& b) {
  double fastest = 0;  // rate over bytes left
  for (const Bundle::Clock& clock : b.clocks) {
    if (!moves(clock)) continue;
    const double left = clock.scale * (clock.least - clock.shift);
    fastest = std::max(fastest, clock.share + clock.flat / left);
  }
  return fastest > 0 ? b.since + 1 / fastest : kNever;
}

void advance(Bundle& b, Seconds now, std::vector<std::uint32_t>& ended) {
  const Seconds time = now - b.since;
  b.since = now;
  if (time <= 0) return;
  b.sent += b.speed * time;
  for (std::uint32_t k = 0; k < b.links.size(); ++k) b.link_left[k] -= b.link_use[k] * time;
  for (std::uint32_t k = 0; k < b.links.size(); ++k) {
    Bundle::Clock& clock = b.clocks[k];
    if (!moves(clock)) continue;
    const double part = std::max(0.0, 1 - clock.share * time), flat = clock.flat * time;
    // Rates stay, so what they are per byte left grows.
    if (part > 0) clock.share /= part, clock.flat /= part;
    if (part < kSmallPart || clock.scale * part < kSmallScale) {
      settle(b, k, part, flat, true, ended);
      continue;
    }
    clock.scale *= part;
    clock.shift += flat / clock.scale;
    if (clock.scale * (clock.least - clock.shift) < kDoneBytes) settle(b, k, 1, 0, false, ended);
  }
}

void sum_links(Bundle& b) {
  std::fill(b.link_left.begin(), b.link_left.end(), 0.0);
  for (std::uint32_t k = 0; k < b.links.size(); ++k) {
    const Bundle::Clock& clock = b.clocks[k];
    if (clock.least == kInfinity) continue;
    b.link_left[k] += add_bytes(clock.scale, clock.shift, &b.marks[b.row(k)], b.across(k),
                                &b.link_left[b.first_across(k)]);
  }
}

}  // namespace weft

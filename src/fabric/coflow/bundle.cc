#include "fabric/coflow/bundle.h"

#include <algorithm>

#include "base/check.h"
#include "fabric/coflow/link_kernels.h"

namespace weft {
namespace {

// Links with less than this for each flow are summed anew before anything is divided by it.
constexpr double kFewBytes = 10;

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
  bundle.bytes = coflow.bytes;
  recount(bundle);
  return bundle;
}

void recount(Bundle& b) {
  const std::size_t links = b.links.size(), cells = 2 * b.bytes.size();
  b.words = (std::max(b.rows, b.columns) + 63) / 64;
  b.clocks.assign(links, {});
  b.alive.assign(links * b.words, 0);
  b.held.assign(links * b.words, 0);
  b.marks.assign(cells, kInfinity);
  b.weights.assign(cells, 0);
  b.link_left.assign(links, 0);
  b.link_use.assign(links, 0);
  b.link_weight.assign(links, 0);
  b.link_flows.assign(links, 0);
  b.flows_left = 0;
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    for (std::uint32_t j = 0; j < b.columns; ++j) {
      const double bytes = b.bytes[std::size_t{i} * b.columns + j];
      if (bytes >= kDoneBytes) set_flow(b, i, j, bytes, 1);
    }
  }
}

void set_flow(Bundle& b, std::uint32_t i, std::uint32_t j, double bytes, double weight) {
  CHECK(bytes >= kDoneBytes);
  const std::uint32_t column = b.rows + j;
  const std::uint64_t row_bit = std::uint64_t{1} << (j % 64);
  const std::size_t word = std::size_t{i} * b.words + j / 64;
  const bool fresh = (b.alive[word] & row_bit) == 0;
  const double before = b.left(i, j);
  if (fresh) {
    b.alive[word] |= row_bit;
    b.held[word] |= row_bit;
    b.alive[std::size_t{column} * b.words + i / 64] |= std::uint64_t{1} << (i % 64);
    ++b.flows_left;
  }
  const bool by_row = b.holds(i, j);
  Bundle::Clock& clock = b.clocks[by_row ? i : column];
  double& mark = b.marks[by_row ? b.row(i) + j : b.row(column) + i];
  const double added = weight - b.weights[b.row(i) + j];
  const bool was_least = mark == clock.least;
  mark = bytes / clock.scale + clock.shift;
  clock.least = std::min(clock.least, mark);
  if (was_least && !fresh && mark > clock.least) {
    const std::uint32_t link = by_row ? i : column;
    const double* marks = &b.marks[b.row(link)];
    clock.least = *std::min_element(marks, marks + b.across(link));
  }
  b.weights[b.row(i) + j] = b.weights[b.row(column) + i] = weight;
  for (const std::uint32_t k : {i, column}) {
    b.link_flows[k] += fresh ? 1 : 0;
    b.link_weight[k] += added;
    b.link_left[k] += bytes - before;
  }
}

void give_madd(Bundle& bundle, PortRoom& room) {
  for (std::size_t k = 0; k < bundle.links.size(); ++k) {
    if (bundle.link_left[k] >= kFewBytes * bundle.link_flows[k]) continue;
    sum_links(bundle);
    break;
  }
  const Seconds duration = std::max(bundle.bottleneck(room), bundle.promised - bundle.since);
  bundle.madd = 0;
  if (duration == kNever || duration <= 0) return;
  bundle.madd = 1 / duration;
  for (std::size_t k = 0; k < bundle.links.size(); ++k) {
    double& at = room[bundle.links[k]];
    const double after = at - bundle.link_left[k] / duration;
    at = after > kNoRoom * at ? after : 0;
  }
}

}  // namespace weft

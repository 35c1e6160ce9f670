#include <algorithm>
#include <bit>

#include "fabric/coflow/bundle.h"
#include "fabric/coflow/row_kernels.h"

namespace weft {
namespace {

// How the rates of row i come about: see Bundle. `zeros` stands in where no rate depends on bytes.
FlowRow row_of(const Bundle& b, std::uint32_t i, const std::vector<double>& zeros) {
  const bool based = !b.base.empty() && (b.fill == BundleFill::kProportional || b.madd > 0);
  const bool shaped = based && b.fill == BundleFill::kProportional;
  return {based ? &b.base[std::size_t{i} * b.columns] : zeros.data(),
          &b.level[b.rows],
          b.level[i],
          b.madd,
          shaped ? 1.0 : 0.0,
          shaped ? 0.0 : 1.0,
          b.columns};
}

const std::vector<double>& zeros_for(const Bundle& b) {
  thread_local std::vector<double> zeros;
  if (zeros.size() < b.columns) zeros.resize(b.columns, 0.0);
  return zeros;
}

// Takes the bits of the row's flows that have ended, and counts them off their columns.
void bury(Bundle& b, std::uint32_t i) {
  const double* left = &b.left[std::size_t{i} * b.columns];
  for (std::uint32_t w = 0; w < b.words; ++w) {
    std::uint64_t& alive = b.alive[std::size_t{i} * b.words + w];
    for (std::uint64_t bits = alive; bits != 0; bits &= bits - 1) {
      const std::uint32_t j = 64 * w + static_cast<std::uint32_t>(std::countr_zero(bits));
      if (left[j] > 0) continue;
      alive &= ~(std::uint64_t{1} << (j % 64));
      --b.link_flows[b.rows + j];
      b.alive[std::size_t{b.rows + j} * b.words + i / 64] &= ~(std::uint64_t{1} << (i % 64));
    }
  }
}

}  // namespace

Seconds first_end(const Bundle& b) {
  double fastest = 0;
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    if (b.link_flows[i] == 0 || (b.level[i] <= 0 && b.madd <= 0)) continue;
    const FlowRow row = row_of(b, i, zeros_for(b));
    fastest = std::max(fastest, fastest_in_row(row, &b.left[std::size_t{i} * b.columns]));
  }
  return fastest > 0 ? b.since + 1 / fastest : kNever;
}

std::uint32_t advance(Bundle& b, Seconds now) {
  const Seconds time = now - b.since;
  b.since = now;
  if (time <= 0) return 0;
  const std::uint32_t flows_before = b.flows_left;
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    if (b.link_flows[i] == 0 || (b.level[i] <= 0 && b.madd <= 0)) continue;
    const std::uint32_t flows =
        move_row(row_of(b, i, zeros_for(b)), time, kDoneBytes, &b.left[std::size_t{i} * b.columns]);
    b.flows_left -= b.link_flows[i] - flows;
    if (flows < b.link_flows[i]) bury(b, i);
    b.link_flows[i] = flows;
  }
  b.sent += b.speed * time;
  b.summed = false;
  return flows_before - b.flows_left;
}

void sum_links(Bundle& b) {
  if (b.summed) return;
  b.summed = true;
  std::fill(b.link_left.begin(), b.link_left.end(), 0.0);
  for (std::uint32_t i = 0; i < b.rows; ++i) {
    if (b.link_flows[i] == 0) continue;
    const double* left = &b.left[std::size_t{i} * b.columns];
    double* columns = &b.link_left[b.rows];
    double sum = 0;
    for (std::uint32_t j = 0; j < b.columns; ++j) {
      sum += left[j];
      columns[j] += left[j];
    }
    b.link_left[i] = sum;
  }
}

}  // namespace weft

#include "flow/transfer_order.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace weft {
namespace {

struct Prospect {
  Seconds held_up = 0;     // P: computation that waits for this transfer alone
  Seconds group = kNever;  // least transfer time outstanding of a computation that needs it
};

bool goes_before(const Prospect& a, Seconds a_s, const Prospect& b, Seconds b_s) {
  const Seconds first = std::min(b.held_up, a_s), second = std::min(a.held_up, b_s);
  return first != second ? first < second : a.group < b.group;
}

}  // namespace

std::vector<std::uint32_t> tic_order(std::span<const Waiting> computations,
                                     std::uint32_t transfers) {
  std::vector<std::size_t> least(transfers, SIZE_MAX);
  for (const Waiting& waiting : computations) {
    for (std::uint32_t t : waiting.transfers) {
      CHECK(t < transfers);
      least[t] = std::min(least[t], waiting.transfers.size());
    }
  }
  std::vector<std::uint32_t> order(transfers);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return least[a] < least[b]; });
  return order;
}

std::vector<std::uint32_t> tac_order(std::span<const Waiting> computations,
                                     std::span<const Seconds> transfer_s) {
  std::vector<bool> sent(transfer_s.size());
  std::vector<std::uint32_t> order;
  std::vector<Prospect> prospects;
  while (order.size() < transfer_s.size()) {
    prospects.assign(transfer_s.size(), {});
    for (const Waiting& waiting : computations) {
      Seconds outstanding = 0;
      std::uint32_t count = 0, only = 0;
      for (std::uint32_t t : waiting.transfers) {
        if (sent[t]) continue;
        outstanding += transfer_s[t];
        only = t;
        ++count;
      }
      if (count == 1) prospects[only].held_up += waiting.seconds;
      for (std::uint32_t t : waiting.transfers) {
        if (!sent[t]) prospects[t].group = std::min(prospects[t].group, outstanding);
      }
    }
    std::uint32_t best = UINT32_MAX;
    for (std::uint32_t t = 0; t < transfer_s.size(); ++t) {
      if (sent[t]) continue;
      if (best == UINT32_MAX ||
          goes_before(prospects[t], transfer_s[t], prospects[best], transfer_s[best])) {
        best = t;
      }
    }
    sent[best] = true;
    order.push_back(best);
  }
  return order;
}

}  // namespace weft

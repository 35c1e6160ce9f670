#include "sync/straggler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace weft::sync {

Ballot::Choice Ballot::choose(std::set<std::uint32_t> ranks, bool late) {
  return {++choices_, chosen_, {ranks.begin(), ranks.end()}, late};
}

std::optional<Ballot::Choice> Ballot::ready(std::uint32_t rank, std::uint64_t clock) {
  CHECK(clock <= chosen_ + 1);
  if (clock <= chosen_ || too_few_for(rank)) return choose({rank}, true);
  ready_.insert(rank);
  if (ready_.size() < wanted_) return std::nullopt;
  ++chosen_;
  return choose(std::exchange(ready_, {}), false);
}

// Who has come to a meeting before `rank` waits there for it.
bool Ballot::too_few_for(std::uint32_t rank) const {
  const auto own = meetings_.find(rank);
  const std::uint64_t been = own == meetings_.end() ? 0 : own->second;
  const auto away = std::count_if(meetings_.begin(), meetings_.end(),
                                  [&](const auto& other) { return other.second > been; });
  return ranks_ < wanted_ + static_cast<std::uint32_t>(away);
}

std::optional<Ballot::Choice> Ballot::let_go() {
  if (ready_.empty() || !too_few_for(*ready_.begin())) return std::nullopt;
  return choose(std::exchange(ready_, {}), true);
}

std::optional<Ballot::Choice> Ballot::meets(std::uint32_t rank) {
  ++meetings_[rank];
  return let_go();
}

std::optional<Ballot::Choice> Ballot::ends(std::uint32_t rank) {
  meetings_[rank] = std::numeric_limits<std::uint64_t>::max();
  return let_go();
}

std::vector<std::uint32_t> balance_batch(std::span<const double> speeds, std::uint32_t batch,
                                         std::uint32_t least) {
  const std::size_t n = speeds.size();
  CHECK(n >= 1 && std::uint64_t{batch} >= std::uint64_t{least} * n);
  const auto usable = [](double speed) { return speed > 0 && std::isfinite(speed); };
  double slowest = 0;
  for (const double speed : speeds) {
    if (usable(speed) && (slowest == 0 || speed < slowest)) slowest = speed;
  }
  std::vector<double> speed(n);
  for (std::size_t i = 0; i < n; ++i) {
    speed[i] = usable(speeds[i]) ? speeds[i] : (slowest > 0 ? slowest : 1);
  }
  const double largest = *std::max_element(speed.begin(), speed.end());
  double sum = 0;
  for (double& value : speed) sum += value /= largest;
  // Each has the least; what is left over is shared so that the totals are proportional, as far as
  // the least allows.
  std::vector<double> wish(n);
  double wished = 0;
  for (std::size_t i = 0; i < n; ++i) {
    wish[i] = std::max(0.0, speed[i] / sum * batch - least);
    wished += wish[i];
  }
  const std::uint32_t left = batch - least * static_cast<std::uint32_t>(n);
  std::vector<std::uint32_t> shares(n, least);
  std::vector<double> remainder(n);
  std::uint32_t given = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double exact = wished > 0 ? wish[i] / wished * left : 0;
    const auto whole =
        static_cast<std::uint32_t>(std::max(0.0, std::floor(exact - 1e-9)));  // never too many
    shares[i] += whole;
    given += whole;
    remainder[i] = exact - whole;
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  for (std::size_t i = 0; given < left; i = (i + 1) % n, ++given) ++shares[order[i]];
  return shares;
}

}  // namespace weft::sync

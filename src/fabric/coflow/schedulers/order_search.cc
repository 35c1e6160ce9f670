#include "fabric/coflow/schedulers/order_search.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

// A move must gain more than rounding can.
constexpr double kGain = 1e-9;
// Each round moves at least one coflow to a better place; a bound on the work, hardly ever reached.
constexpr int kRounds = 20;

}  // namespace

OrderSearch::OrderSearch(const std::vector<Bundle*>& order) : bundles_(order) {
  for (const Bundle* b : order) {
    for (std::uint32_t link : b->links) links_ = std::max<std::size_t>(links_, link + 1);
  }
  load_.assign(order.size() * links_, 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Bundle& b = *order[i];
    for (std::size_t k = 0; k < b.links.size(); ++k) {
      load_[i * links_ + b.links[k]] = b.link_left[k];
    }
  }
  place_.resize(order.size());
  std::iota(place_.begin(), place_.end(), std::size_t{0});
  prefix_.assign((order.size() + 1) * links_, 0);
  end_.assign(order.size(), 0);
  add_up(0);
}

void OrderSearch::add_up(std::size_t from) {
  for (std::size_t i = from; i < end_.size(); ++i) {
    const double* before = &prefix_[i * links_];
    double* after = &prefix_[(i + 1) * links_];
    const double* own = load(i);
    double most = 0;
    for (std::size_t l = 0; l < links_; ++l) {
      after[l] = before[l] + own[l];
      most = std::max(most, after[l]);
    }
    end_[i] = most;
  }
}

double OrderSearch::end_with(std::size_t prefix, const double* more) const {
  const double* before = &prefix_[prefix * links_];
  double most = 0;
  for (std::size_t l = 0; l < links_; ++l) most = std::max(most, before[l] + more[l]);
  return most;
}

double OrderSearch::end_without(std::size_t prefix, const double* less) const {
  const double* before = &prefix_[prefix * links_];
  double most = 0;
  for (std::size_t l = 0; l < links_; ++l) most = std::max(most, before[l] - less[l]);
  return most;
}

// Where the coflow at `at` makes the sum least: those it passes on its way forward end later by its
// bytes, those it lets pass end earlier.
std::size_t OrderSearch::best_place(std::size_t at) const {
  const double* own = load(at);
  double least = -kGain * end_.back(), others = 0;
  std::size_t best = at;
  for (std::size_t to = at; to-- > 0;) {
    others += end_with(to + 1, own) - end_[to];
    const double change = others + end_with(to, own) - end_[at];
    if (change < least) {
      least = change;
      best = to;
    }
  }
  others = 0;
  for (std::size_t to = at + 1; to < end_.size(); ++to) {
    others += end_without(to + 1, own) - end_[to];
    const double change = others + end_[to] - end_[at];
    if (change < least) {
      least = change;
      best = to;
    }
  }
  return best;
}

void OrderSearch::move(std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t i) { return place_.begin() + static_cast<std::ptrdiff_t>(i); };
  if (to < from) {
    std::rotate(at(to), at(from), at(from + 1));
  } else {
    std::rotate(at(from), at(from + 1), at(to + 1));
  }
  add_up(std::min(from, to));
}

void OrderSearch::improve() {
  bool moved = true;
  for (int round = 0; round < kRounds && moved; ++round) {
    moved = false;
    for (std::size_t at = 0; at < end_.size(); ++at) {
      const std::size_t to = best_place(at);
      if (to == at) continue;
      move(at, to);
      moved = true;
    }
  }
}

double OrderSearch::sum() const { return std::accumulate(end_.begin(), end_.end(), 0.0); }

std::vector<Bundle*> OrderSearch::order() const {
  std::vector<Bundle*> order;
  for (std::size_t bundle : place_) order.push_back(bundles_[bundle]);
  return order;
}

}  // namespace weft

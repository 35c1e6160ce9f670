// Searches for the order of coflows with the least sum of completion times.
#pragma once

#include <vector>

#include "fabric/coflow/bundle.h"

namespace weft {

// Judges an order by its concurrent open shop: the k-th coflow ends when its busiest link has moved
// the bytes of the first k. No schedule that serves coflows in this order on every link does
// better, and one that keeps the links busy comes close.
class OrderSearch {
 public:
  explicit OrderSearch(const std::vector<Bundle*>& order);

  // Moves single coflows to better places until none is left. Cost: O(bundles^2 * links) a round.
  void improve();
  // Sum of the completion times, in bytes of one link.
  double sum() const;
  std::vector<Bundle*> order() const;

 private:
  const double* load(std::size_t at) const { return &load_[place_[at] * links_]; }
  void add_up(std::size_t from);
  double end_with(std::size_t prefix, const double* more) const;
  double end_without(std::size_t prefix, const double* less) const;
  std::size_t best_place(std::size_t at) const;
  void move(std::size_t from, std::size_t to);

  std::vector<Bundle*> bundles_;
  std::size_t links_ = 0;
  std::vector<double> load_;        // bundles x links
  std::vector<std::size_t> place_;  // position to bundle
  std::vector<double> prefix_;      // (positions + 1) x links: bytes of those before
  std::vector<double> end_;         // by position
};

}  // namespace weft

// Ranks of different speed: leave the last ones out, or give them less to do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace weft::sync {

// Backup workers (Chen et al. 2016): of n ranks the first n - backup whose gradients are there
// count. One rank, the lowest, holds the ballot and tells all ranks what it chose, so that all
// leave out the same ones.
class Ballot {
 public:
  Ballot(std::uint32_t ranks, std::uint32_t backup) : wanted_(ranks - backup) {}

  struct Choice {
    std::uint64_t step = 0;
    std::vector<std::uint32_t> ranks;  // ascending
  };
  // `rank` has the gradients of `step`. Ensures: a choice exactly once for each step; who comes
  // later is not counted, a repetition neither.
  std::optional<Choice> ready(std::uint32_t rank, std::uint64_t step);

 private:
  std::uint32_t wanted_;
  std::uint64_t chosen_ = 0;  // steps up to this one
  std::map<std::uint64_t, std::set<std::uint32_t>> ready_;
};

// Shares of a global batch proportional to measured speeds (examples per second), by largest
// remainder, at least `least` each. With weights proportional to the shares (Member::weight) the
// averaged gradient is that of the whole batch, however it is shared. Ensures: adds up to `batch`;
// the same arguments give the same shares, so that ranks that have gathered the speeds agree.
// A speed that is not above 0 counts as the slowest of the others; ties go to the lower rank.
// Requires: batch >= least × ranks, ranks >= 1.
std::vector<std::uint32_t> balance_batch(std::span<const double> speeds, std::uint32_t batch,
                                         std::uint32_t least = 1);

}  // namespace weft::sync

// Walks one stream of one program, round by round, without unrolling it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "collective/schedule.h"

namespace weft::collective {

// Requires: the rounds outlive the cursor and stay where they are.
class Cursor {
 public:
  explicit Cursor(const std::vector<Round>& rounds) : rounds_(&rounds) { skip_empty(); }

  bool done() const { return entry_ == rounds_->size(); }
  // The current round and its iteration, the `i` of Walk::at and Cells::at. Requires: !done().
  const Round& round() const { return (*rounds_)[entry_]; }
  std::int64_t iteration() const { return iteration_; }
  // How many rounds were passed.
  std::int64_t number() const { return number_; }
  // Rounds of the current entry after this one. Requires: !done().
  std::int64_t left_in_entry() const { return round().repeat - 1 - iteration_; }

  // Passes `rounds` rounds of the current entry at once. Requires: !done(), and the entry has more
  // than so many left.
  void skip(std::int64_t rounds) {
    CHECK(rounds >= 0 && iteration_ + rounds < round().repeat);
    iteration_ += rounds;
    number_ += rounds;
  }
  // Requires: !done().  Cost: O(1).
  void next() {
    ++number_;
    if (++iteration_ < round().repeat) return;
    iteration_ = 0;
    ++entry_;
    skip_empty();
  }

 private:
  void skip_empty() {
    while (entry_ < rounds_->size() && (*rounds_)[entry_].repeat <= 0) ++entry_;
  }

  const std::vector<Round>* rounds_;
  std::size_t entry_ = 0;
  std::int64_t iteration_ = 0;
  std::int64_t number_ = 0;
};

}  // namespace weft::collective

// Which schedule an operation runs, and in slices of which size: asked of the room `timing`, which
// runs the same schedules on the speeds of the group's links. All ranks know the same speeds, so
// that all choose alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "collective/algorithms.h"
#include "runtime/links.h"

namespace weft::runtime {

struct GroupShape {
  int ranks = 1;
  int per_host = 1;  // the same on all hosts and in a row; else 1
  bool one_host = true;
  LinkSpeeds links;
};

struct Candidate {
  std::string algorithm;
  Seconds expected_s = kNever;  // kNever: too large to be timed
};
struct Choice {
  std::string algorithm;
  std::size_t slice_bytes = 0;  // of the whole data; 0: no more slices than messages need
  Seconds expected_s = kNever;
  std::vector<Candidate> considered;
};

struct Wish {
  std::string algorithm = {};  // to be taken, whatever is expected; empty: none
  // The result does not hang on the order of additions, so that another algorithm than in another
  // run does no harm.
  bool any_order = false;
  // The user lets the order vary: slices, too, are those of the measured links.
  bool by_links = false;
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  // Requires: the operation is one of schedules, not point to point. Ensures: the same algorithm
  // and slices for all sizes of one size_class(), and for speeds that rounded() does not tell
  // apart; where the order of additions matters, those of usual speeds, unless the measured ones
  // promise much.
  // Thread-safety: all of it. Cost: that of simulating each candidate; keep the answer.
  virtual Choice choose(collective::Operation operation, double bytes, const GroupShape& shape,
                        const Wish& wish) const = 0;
};

// Sizes from one power of two to the next.
int size_class(double bytes);

// For every choice of this algorithm, whatever was measured; or by_links, as rounded() has them.
std::size_t slice_bytes_of(const std::string& algorithm, const GroupShape& shape,
                           bool by_links = false);

// By run_schedule() of the room `timing`.
const Chooser& timed_chooser();

}  // namespace weft::runtime

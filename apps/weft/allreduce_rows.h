// From the lines that ranks print (bench/peers/measure.h) to the rows of `weft bench allreduce`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace weft {

// What one group of processes measured at one size.
struct GroupRun {
  std::vector<double> times_s;  // of each iteration: that of its slowest rank
  double cpu_s_per_gb = 0;  // user + system of a rank for 10^9 bytes of message, mean over ranks
  std::uint64_t wrong = 0;  // elements, over all ranks
  // What the library itself expected before it began, by its model; nothing: it has none.
  std::optional<double> predicted_s = {};
};

// Reads one line of JSON for each rank, in any order; other lines are passed over, for launchers
// print some of their own; one that has "predicted_s" and the size is the library's expectation. An
// error says which rank's line is missing, doubled or not as it must
// be.
Result<GroupRun> read_group(const std::string& text, int ranks, std::uint64_t size_bytes);

struct AllReduceRow {
  std::string library, algorithm;  // the algorithm is empty where the library chooses
  std::uint64_t size_bytes = 0;
  double median_s = 0;      // median over rounds of each round's median
  double min_s = 0;         // of all iterations
  double cpu_s_per_gb = 0;  // median over rounds
  std::uint64_t wrong = 0;  // over all rounds
  int rounds = 0, iterations = 0;
  std::optional<double> predicted_s = {};  // median over rounds
};

// Requires: rounds is not empty.
AllReduceRow fold_rounds(std::string library, std::string algorithm, std::uint64_t size_bytes,
                         const std::vector<GroupRun>& rounds);

// Keeps of each library and size the algorithm with the least median, in the order of first
// appearance. Ensures: wrong elements of the others are added to it, so that none is hidden.
std::vector<AllReduceRow> best_algorithms(const std::vector<AllReduceRow>& rows);

// The least median of `size_bytes` among libraries other than `except`; nullptr when there is none.
const AllReduceRow* fastest(const std::vector<AllReduceRow>& rows, std::uint64_t size_bytes,
                            const std::string& except = "");

double median_of(std::vector<double> values);  // Requires: not empty.

}  // namespace weft

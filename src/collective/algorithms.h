// The generators. Each turns a request into a schedule that verify() accepts; which requests an
// algorithm can serve is said by `refusal`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collective/schedule.h"

namespace weft::collective {

// What is asked for. A generator reads the fields that its row in docs/collectives.md names.
struct Request {
  Operation operation = Operation::kAllReduce;
  int ranks = 1;
  int root = 0;
  int chunks = 1;    // pieces of a pipeline; double binary tree: of each of its two trees
  int rings = 4;     // multi-ring
  int per_node = 0;  // hierarchical, in-network: ranks in a node or at a leaf; 0: all of them
  std::vector<int> leaf_of = {};  // in-network: the leaf switch of each rank; empty: by per_node
  std::vector<int> dims = {};     // torus: sides; rank = ((x * dims[1]) + y) * dims[2] + z
  int servers = 0;        // parameter server: helpers that serve; 0: every rank serves a share
  double density = 0.01;  // sparse: part of the values that each rank selects
  // All-to-all-v: weight of what rank s sends to rank d at [s * ranks + d]; empty: all the same.
  std::vector<std::uint64_t> pair_weights = {};
};

struct Algorithm {
  std::string_view name;
  Operation operation;
  // Why this request cannot be served; empty when it can.
  std::string (*refusal)(const Request&);
  // Requires: refusal(request) is empty.
  Schedule (*make)(const Request&);
};

// In a fixed order: the order of docs/collectives.md.
std::span<const Algorithm> algorithms();

// The schedule of the named algorithm for the request's operation; the error names near misses, or
// says why the algorithm cannot serve the request.
Result<Schedule> generate(std::string_view name, const Request& request);

}  // namespace weft::collective

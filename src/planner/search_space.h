// The configurations of a search, family by family: all of a family hold the same memory.
#pragma once

#include <functional>
#include <vector>

#include "planner/search.h"

namespace weft::planner {

// What does not change the memory that a layout needs.
struct Variant {
  bool overlap_gradients = false;
  TensorOverlap overlap = TensorOverlap::kNone;
  Placement placement;
};

struct Family {
  Layout layout;  // all but the fields of a variant
  const std::vector<Variant>* variants;
};

// Calls `visit` for each family, in a fixed order. Every layout of a family passes check(), except
// that Calculon's space interleaves any number of micro-batches; placements may ask for more than a
// node holds.
void for_each_family(const Workload& work, const SearchQuestion& question,
                     const std::function<void(const Family&)>& visit);

// Divisors of n, ascending.
std::vector<int> divisors(int n);

}  // namespace weft::planner

#include "collective/requests_testing.h"

#include <fmt/ranges.h>

#include <functional>

#include "base/random.h"

namespace weft::collective {
namespace {

using Variants = std::vector<Request>;

// Every request of `old` with each of `values` in one field.
template <typename Value>
Variants with(const Variants& old, Value Request::*field, const std::vector<Value>& values) {
  Variants result;
  for (const Request& request : old) {
    for (const Value& value : values) {
      result.push_back(request);
      result.back().*field = value;
    }
  }
  return result;
}

std::vector<int> divisors(int n) {
  std::vector<int> result;
  for (int d = 1; d <= n; ++d) {
    if (n % d == 0) result.push_back(d);
  }
  return result;
}

std::vector<std::vector<int>> grids(int ranks) {
  std::vector<std::vector<int>> result = {{ranks}};
  for (const int a : divisors(ranks)) {
    result.push_back({a, ranks / a});
    for (const int b : divisors(ranks / a)) {
      if (a > 1 && b > 1) result.push_back({a, b, ranks / a / b});
    }
  }
  return result;
}

std::vector<std::uint64_t> random_weights(int ranks) {
  Random random(static_cast<std::uint64_t>(ranks));
  std::vector<std::uint64_t> weights;
  for (int pair = 0; pair < ranks * ranks; ++pair) weights.push_back(random.below(5));
  return weights;
}

}  // namespace

std::vector<Request> requests_for(const Algorithm& algorithm, int ranks) {
  const std::string_view name = algorithm.name;
  Variants all = {{.operation = algorithm.operation, .ranks = ranks}};
  if (algorithm.operation == Operation::kBroadcast || algorithm.operation == Operation::kReduce) {
    all = with(all, &Request::root, {0, ranks / 2, ranks - 1});
  }
  if (name == "chain" || name == "tree" || name == "double-binary-tree") {
    all = with(all, &Request::chunks, {1, 2, 7});
  }
  if (name == "multi-ring") all = with(all, &Request::rings, {1, 3, 6});
  if (name == "hierarchical") all = with(all, &Request::per_node, divisors(ranks));
  if (name == "in-network") all = with(all, &Request::per_node, {0, 1, 3, 8});
  if (name == "torus" || name == "torus-sequential") all = with(all, &Request::dims, grids(ranks));
  if (name == "parameter-server") all = with(all, &Request::servers, {0, 1, 3});
  if (algorithm.operation == Operation::kAllToAll) {
    all = with(all, &Request::pair_weights, {{}, random_weights(ranks)});
  }
  std::erase_if(all, [&](const Request& r) { return !algorithm.refusal(r).empty(); });
  return all;
}

std::string describe(const Algorithm& algorithm, const Request& r) {
  return fmt::format(
      "{} {}, {} ranks, root {}, {} chunks, {} rings, {} per node, dims [{}], {} servers, {} "
      "weights",
      algorithm.name, name_of(algorithm.operation), r.ranks, r.root, r.chunks, r.rings, r.per_node,
      fmt::join(r.dims, ","), r.servers, r.pair_weights.size());
}

}  // namespace weft::collective

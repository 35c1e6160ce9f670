// Every generator with requests that differ in what it reads, for tests of programs and layouts.
#pragma once

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "collective/algorithms.h"

namespace weft::runtime {

struct NamedRequest {
  const collective::Algorithm* algorithm;
  collective::Request request;
};

inline std::vector<NamedRequest> requests_of(int ranks) {
  using collective::Operation;
  std::vector<NamedRequest> all;
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    std::vector<collective::Request> tries;
    const auto add = [&](auto change) {
      collective::Request request{.operation = algorithm.operation, .ranks = ranks};
      change(request);
      tries.push_back(request);
    };
    add([](auto&) {});
    add([&](auto& r) { r.root = ranks - 1, r.chunks = 3, r.rings = 2, r.servers = 2; });
    add([&](auto& r) { r.root = ranks / 2, r.chunks = 2, r.rings = 3, r.servers = 1; });
    for (const int side : {1, 2, 3}) {
      add([&](auto& r) { r.per_node = side, r.dims = {side, ranks / side}; });
    }
    add([&](auto& r) { r.dims = {ranks}; });
    add([&](auto& r) { r.dims = {2, 2, ranks / 4}; });
    if (algorithm.operation == Operation::kAllToAll) {
      add([&](auto& r) {
        for (int pair = 0; pair < ranks * ranks; ++pair) {
          r.pair_weights.push_back(static_cast<std::uint64_t>(pair * 7 % 5));
        }
      });
    }
    for (const collective::Request& request : tries) {
      if (algorithm.refusal(request).empty()) all.push_back({&algorithm, request});
    }
  }
  return all;
}

inline std::string describe(const NamedRequest& named) {
  const collective::Request& r = named.request;
  return fmt::format(
      "{} {}, {} ranks, root {}, {} chunks, {} rings, {} per node, dims [{}], {} "
      "servers, {} weights",
      named.algorithm->name, collective::name_of(r.operation), r.ranks, r.root, r.chunks, r.rings,
      r.per_node, fmt::join(r.dims, ","), r.servers, r.pair_weights.size());
}

// Whether its data have an amount for each pair, which a call gives as amounts.
inline bool has_pairs(const collective::Request& request) { return !request.pair_weights.empty(); }

}  // namespace weft::runtime

#include "collective/algorithms.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>

#include "collective/generators.h"

namespace weft::collective {
namespace {

constexpr int kMaxChunks = 1 << 20;
constexpr int kMaxRings = 64;

std::string any(const Request&) { return ""; }

std::string one_of_ranks(const Request& request) {
  if (request.root >= 0 && request.root < request.ranks) return "";
  return fmt::format("root is {}; it must lie in 0 .. {}", request.root, request.ranks - 1);
}

std::string some_chunks(const Request& request) {
  if (request.chunks >= 1 && request.chunks <= kMaxChunks) return "";
  return fmt::format("chunks is {}; it must lie in 1 .. {}", request.chunks, kMaxChunks);
}

std::string chunks_to_root(const Request& request) {
  const std::string refusal = some_chunks(request);
  return refusal.empty() ? one_of_ranks(request) : refusal;
}

std::string some_rings(const Request& request) {
  if (request.rings >= 1 && request.rings <= kMaxRings) return "";
  return fmt::format("rings is {}; it must lie in 1 .. {}", request.rings, kMaxRings);
}

std::string power_of_two(const Request& request) {
  if (std::has_single_bit(static_cast<unsigned>(request.ranks))) return "";
  return fmt::format("ranks is {}; it must be a power of two", request.ranks);
}

std::string whole_nodes(const Request& request) {
  if (request.per_node == 0) return "";
  if (request.per_node > 0 && request.ranks % request.per_node == 0) return "";
  return fmt::format("ranks is {} with {} per node; nodes must be full", request.ranks,
                     request.per_node);
}

std::string some_per_leaf(const Request& request) {
  if (!request.leaf_of.empty()) {
    const auto [least, most] = std::minmax_element(request.leaf_of.begin(), request.leaf_of.end());
    if (request.leaf_of.size() != static_cast<std::size_t>(request.ranks) || *least < 0 ||
        *most >= request.ranks) {
      return fmt::format(
          "there are leaves for {} ranks, from {} to {}; {} ranks need one of 0 .. {}",
          request.leaf_of.size(), *least, *most, request.ranks, request.ranks - 1);
    }
  }
  if (request.per_node >= 0) return "";
  return fmt::format("ranks per leaf is {}; it must not be negative", request.per_node);
}

std::string a_grid(const Request& request) {
  std::int64_t product = request.dims.empty() || request.dims.size() > 8 ? 0 : 1;
  for (const int side : request.dims) {
    product = side < 1 || product > kMaxEndpoints ? 0 : product * side;
  }
  if (product == request.ranks) return "";
  return fmt::format("dims is [{}]; up to 8 sides whose product is the {} ranks are needed",
                     fmt::join(request.dims, ", "), request.ranks);
}

std::string pairs(const Request& request) {
  constexpr int kMostRanks = 1 << 15;
  const auto want =
      static_cast<std::size_t>(request.ranks) * static_cast<std::size_t>(request.ranks);
  if (request.ranks > kMostRanks) {
    return fmt::format("ranks is {}; at most {} are allowed", request.ranks, kMostRanks);
  }
  if (!request.pair_weights.empty() && request.pair_weights.size() != want) {
    return fmt::format("there are {} weights; {} ranks have {} pairs", request.pair_weights.size(),
                       request.ranks, want);
  }
  for (const std::uint64_t weight : request.pair_weights) {
    if (weight > kMaxWeight) {
      return fmt::format("a weight is {}; at most {} is allowed", weight, kMaxWeight);
    }
  }
  return "";
}

std::string pairs_in_nodes(const Request& request) {
  const std::string refusal = whole_nodes(request);
  return refusal.empty() ? pairs(request) : refusal;
}

std::string few_ranks(const Request& request) {
  constexpr int kMostRanks = 64;  // messages grow with the square
  if (request.ranks <= kMostRanks) return "";
  return fmt::format("ranks is {}; at most {} are allowed", request.ranks, kMostRanks);
}

std::string some_servers(const Request& request) {
  if (request.servers >= 0 && request.servers <= kMaxEndpoints - request.ranks) return "";
  return fmt::format("servers is {}; it must lie in 0 .. {}", request.servers,
                     kMaxEndpoints - request.ranks);
}

std::string a_density(const Request& request) {
  if (request.density > 0 && request.density <= 1) return "";
  return fmt::format("density is {}; it must be above 0 and at most 1", request.density);
}

constexpr std::array kAlgorithms = {
    Algorithm{"ring", Operation::kAllReduce, any, ring_all_reduce},
    Algorithm{"bidirectional-ring", Operation::kAllReduce, any, bidirectional_ring_all_reduce},
    Algorithm{"multi-ring", Operation::kAllReduce, some_rings, multi_ring_all_reduce},
    Algorithm{"halving-doubling", Operation::kAllReduce, any, halving_doubling_all_reduce},
    Algorithm{"double-binary-tree", Operation::kAllReduce, some_chunks, double_tree_all_reduce},
    Algorithm{"binomial", Operation::kAllReduce, any, binomial_all_reduce},
    Algorithm{"hierarchical", Operation::kAllReduce, whole_nodes, hierarchical_all_reduce},
    Algorithm{"torus", Operation::kAllReduce, a_grid, torus_all_reduce},
    Algorithm{"torus-sequential", Operation::kAllReduce, a_grid, torus_sequential_all_reduce},
    Algorithm{"direct", Operation::kAllReduce, any, direct_all_reduce},
    Algorithm{"exchange", Operation::kAllReduce, few_ranks, exchange_all_reduce},
    Algorithm{"parameter-server", Operation::kAllReduce, some_servers, parameter_server_all_reduce},
    Algorithm{"sparse", Operation::kAllReduce, a_density, sparse_all_reduce},
    Algorithm{"in-network", Operation::kAllReduce, some_per_leaf, in_network_all_reduce},
    Algorithm{"ring", Operation::kReduceScatter, any, ring_reduce_scatter},
    Algorithm{"halving-doubling", Operation::kReduceScatter, power_of_two, halving_reduce_scatter},
    Algorithm{"direct", Operation::kReduceScatter, any, direct_reduce_scatter},
    Algorithm{"ring", Operation::kAllGather, any, ring_all_gather},
    Algorithm{"halving-doubling", Operation::kAllGather, power_of_two, doubling_all_gather},
    Algorithm{"bruck", Operation::kAllGather, any, bruck_all_gather},
    Algorithm{"direct", Operation::kAllGather, any, direct_all_gather},
    Algorithm{"chain", Operation::kBroadcast, chunks_to_root, chain_broadcast},
    Algorithm{"tree", Operation::kBroadcast, chunks_to_root, tree_broadcast},
    Algorithm{"binomial", Operation::kBroadcast, one_of_ranks, binomial_broadcast},
    Algorithm{"chain", Operation::kReduce, chunks_to_root, chain_reduce},
    Algorithm{"tree", Operation::kReduce, chunks_to_root, tree_reduce},
    Algorithm{"binomial", Operation::kReduce, one_of_ranks, binomial_reduce},
    Algorithm{"direct", Operation::kAllToAll, pairs, direct_all_to_all},
    Algorithm{"bruck", Operation::kAllToAll, pairs, bruck_all_to_all},
    Algorithm{"hierarchical", Operation::kAllToAll, pairs_in_nodes, hierarchical_all_to_all},
    Algorithm{"dissemination", Operation::kBarrier, any, dissemination_barrier},
};

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

Result<Schedule> generate(std::string_view name, const Request& request) {
  if (request.ranks < 1 || request.ranks > kMaxEndpoints) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("ranks is {}; it must lie in 1 .. {}", request.ranks, kMaxEndpoints),
                 ""};
  }
  std::vector<std::string> known;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.operation != request.operation) continue;
    known.emplace_back(algorithm.name);
    if (algorithm.name != name) continue;
    const std::string refusal = algorithm.refusal(request);
    if (refusal.empty()) return algorithm.make(request);
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} {}: {}", name, name_of(request.operation), refusal), ""};
  }
  const std::string near = near_miss(std::string(name), known);
  return Error{
      ErrorKind::kNotFound,
      fmt::format("there is no {} algorithm called '{}'", name_of(request.operation), name),
      near.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                   : fmt::format("did you mean '{}'?", near)};
}

}  // namespace weft::collective

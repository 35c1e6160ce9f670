// Rings along the sides of a grid of ranks: node and rails, 2D and 3D torus.
#include <functional>
#include <numeric>

#include "collective/builder.h"
#include "collective/generators.h"

namespace weft::collective {
namespace {

struct Grid {
  std::vector<int> sides;

  int ranks() const { return std::accumulate(sides.begin(), sides.end(), 1, std::multiplies<>()); }
  int stride(std::size_t dim) const {
    return std::accumulate(sides.begin() + static_cast<std::ptrdiff_t>(dim) + 1, sides.end(), 1,
                           std::multiplies<>());
  }
};

// Reduce-scatter along one side after another, beginning with side `first`, then all-gather the way
// back. Each ring works on the part of the data that the rings before it left to this rank.
Rounds along_sides(const Grid& grid, int rank, std::size_t first, bool forward, int base) {
  const std::size_t dims = grid.sides.size();
  std::vector<Circle> circles;
  int group = grid.ranks();
  for (std::size_t k = 0; k < dims; ++k) {
    const std::size_t dim = (first + k) % dims;
    const int side = grid.sides[dim];
    const int stride = grid.stride(dim);
    const int at = rank / stride % side;
    const auto neighbour = [&](int step) {
      return rank + ((at + step + side) % side - at) * stride;
    };
    group /= side;
    if (side == 1) continue;
    circles.push_back({.size = side,
                       .place = forward ? at : side - 1 - at,
                       .next = neighbour(forward ? 1 : -1),
                       .prev = neighbour(forward ? -1 : 1),
                       .base = base,
                       .group = group});
    base += circles.back().place * group;
  }
  Rounds rounds;
  Buffer from = Buffer::kInput;
  for (const Circle& circle : circles) {
    ring_reduce_scatter(circle, from, Buffer::kOutput, rounds);
    from = Buffer::kOutput;
  }
  for (auto circle = circles.rbegin(); circle != circles.rend(); ++circle) {
    ring_all_gather(*circle, Buffer::kOutput, rounds);
  }
  return rounds;
}

// One stream per side to begin with and per direction.
Schedule on_grid(const char* name, const Grid& grid, std::size_t starts, std::size_t directions) {
  const int p = grid.ranks();
  const auto streams = static_cast<int>(starts * directions);
  Schedule schedule = make_schedule(Operation::kAllReduce, name, p, p * streams, streams);
  schedule.in_place = true;
  for (int r = 0; r < p; ++r) {
    auto& program = schedule.programs[static_cast<std::size_t>(r)];
    for (std::size_t s = 0; s < program.streams.size(); ++s) {
      program.streams[s] =
          along_sides(grid, r, s / directions, s % directions == 0, static_cast<int>(s) * p);
    }
    if (p == 1) program.streams[0] = alone(streams);
  }
  return schedule;
}

}  // namespace

Schedule torus_all_reduce(const Request& request) {
  return on_grid("torus", {request.dims}, request.dims.size(), 2);
}

Schedule torus_sequential_all_reduce(const Request& request) {
  return on_grid("torus-sequential", {request.dims}, 1, 2);
}

Schedule hierarchical_all_reduce(const Request& request) {
  const int per_node = request.per_node == 0 ? request.ranks : request.per_node;
  // The node is the side that varies fastest; it comes first, so the two sides change places.
  const int nodes = request.ranks / per_node;
  Schedule schedule =
      make_schedule(Operation::kAllReduce, "hierarchical", request.ranks, request.ranks);
  schedule.in_place = true;
  for (int r = 0; r < request.ranks; ++r) {
    auto& stream = schedule.programs[static_cast<std::size_t>(r)].streams[0];
    stream = request.ranks == 1 ? alone(1) : along_sides({{nodes, per_node}}, r, 1, true, 0);
  }
  return schedule;
}

}  // namespace weft::collective

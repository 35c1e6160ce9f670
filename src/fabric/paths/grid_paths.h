// Dimension-ordered paths: a coordinate at a time, by arithmetic alone. Tori, hypercubes and
// HammingMesh are all products of lines; only what a line is differs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/topology.h"

namespace weft {

// One dimension: how to get from coordinate `a` to `b` while all others stay.
class GridLine {
 public:
  virtual ~GridLine() = default;
  // Equally short ways; at least 1. Requires: a != b.
  virtual std::uint32_t ways(std::uint32_t a, std::uint32_t b) const = 0;
  // Appends the links of one of them. `row` numbers the line among those of its dimension.
  virtual void walk(std::uint32_t row, std::uint32_t a, std::uint32_t b, std::uint32_t way,
                    std::vector<LinkId>& out) const = 0;
};

// A ring of `side` endpoints, or one cable when side is 2. Cables are numbered row by row from
// `first`: cable c of a row joins coordinates c and c + 1.
std::unique_ptr<GridLine> make_ring_line(std::uint32_t side, LinkId first);

// Boards of `board` endpoints in a row; both ends of every board have a cable to one switch
// (HammingMesh). Per row: for each board its inner cables, then first and last endpoint to switch.
std::unique_ptr<GridLine> make_board_line(std::uint32_t boards, std::uint32_t board, LinkId first);

// Endpoint = sum of coordinate × product of the sides before it. The line of dimension d through a
// point is numbered by the point's other coordinates in the same way.
// Paths: every order of the dimensions that differ × every way of each line. Of more than
// kMostOrdered dimensions only the first so many change places.
std::shared_ptr<const Paths> make_grid_paths(std::vector<std::uint32_t> sides,
                                             std::vector<std::unique_ptr<GridLine>> lines);
inline constexpr std::uint32_t kMostOrdered = 8;

}  // namespace weft

// Tori, hypercubes and HammingMesh: products of lines.
#include <fmt/ranges.h>

#include <algorithm>

#include "fabric/builders/builders.h"
#include "fabric/paths/grid_paths.h"

namespace weft {
namespace {

double product(const std::vector<std::uint32_t>& sides) {
  double points = 1;
  for (const std::uint32_t side : sides) points *= side;
  return points;
}

// One dimension of a grid: its rows, and the points in them.
struct Rows {
  std::uint32_t side = 1, below = 1, count = 1;  // below: product of the sides before

  Rows(const std::vector<std::uint32_t>& sides, std::size_t dimension) {
    side = sides[dimension];
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (i < dimension) below *= sides[i];
      if (i != dimension) count *= sides[i];
    }
  }
  VertexId at(std::uint32_t row, std::uint32_t coordinate) const {
    return row / below * below * side + coordinate * below + row % below;
  }
};

// Half of a torus with an even longest side is least joined across that side: by two cables a row,
// or one if the side is 2.
void set_torus_bisection(const std::vector<std::uint32_t>& sides, double bytes_per_s,
                         TopologyFacts& facts) {
  const std::uint32_t longest = *std::max_element(sides.begin(), sides.end());
  if (longest % 2 != 0) return;
  facts.bisection_bytes_per_s = product(sides) / longest * (longest > 2 ? 2 : 1) * bytes_per_s;
  facts.bisection_rule = "by formula: the links across the middle of the longest side";
}

}  // namespace

Wiring build_torus(const std::vector<std::uint32_t>& sides, const LinkRate& rate) {
  Wiring wiring;
  const auto points = static_cast<std::uint32_t>(product(sides));
  wiring.add("host", VertexKind::kEndpoint, 0, points);
  std::vector<std::unique_ptr<GridLine>> lines;
  for (std::size_t d = 0; d < sides.size(); ++d) {
    const Rows rows(sides, d);
    lines.push_back(make_ring_line(rows.side, wiring.next_link()));
    const std::uint32_t cables = rows.side == 1 ? 0 : rows.side == 2 ? 1 : rows.side;
    for (std::uint32_t row = 0; row < rows.count; ++row) {
      for (std::uint32_t c = 0; c < cables; ++c) {
        wiring.cable(rows.at(row, c), rows.at(row, (c + 1) % rows.side), rate);
      }
    }
  }
  TopologyFacts& facts = wiring.topology.facts;
  facts.words = fmt::format("torus of {} endpoints that pass traffic on", fmt::join(sides, " x "));
  facts.grid = sides;
  set_torus_bisection(sides, rate.bytes_per_s, facts);
  wiring.endpoints_forward = true;
  wiring.topology.paths = make_grid_paths(sides, std::move(lines));
  return wiring;
}

Wiring read_torus(Parameters& p, std::uint32_t) {
  const std::vector<std::uint32_t> sides = p.sides("sides", {4, 4}, 6, true);
  const LinkRate rate = p.link(50e9, 1e-6);
  if (product(sides) < 2) p.complain("it has one endpoint; it must have at least 2");
  p.fits(product(sides), product(sides) * static_cast<double>(sides.size()));
  return p.done() ? build_torus(sides, rate) : Wiring{};
}

Wiring read_hypercube(Parameters& p, std::uint32_t) {
  const std::vector<std::uint32_t> dimensions = p.sides("dimensions", {6}, 1, true);
  const LinkRate rate = p.link(50e9, 1e-6);
  if (dimensions[0] > 19) {
    p.complain(fmt::format("it has {} dimensions; it must have 1 to 19", dimensions[0]));
  }
  if (!p.done()) return {};
  Wiring wiring = build_torus(std::vector<std::uint32_t>(dimensions[0], 2), rate);
  wiring.topology.facts.words =
      fmt::format("hypercube of {} dimensions, {} endpoints that pass traffic on", dimensions[0],
                  wiring.topology.endpoints);
  return wiring;
}

// Hoefler et al., "HammingMesh: A Network Topology for Large-Scale Deep Learning", SC 2022. Each
// row and column of the plane has one ideal switch in place of the paper's fat-trees.
Wiring build_hamming_mesh(const std::vector<std::uint32_t>& boards,
                          const std::vector<std::uint32_t>& board, const LinkRate& rate) {
  const std::vector<std::uint32_t> sides = {boards[0] * board[0], boards[1] * board[1]};
  Wiring wiring;
  wiring.add("host", VertexKind::kEndpoint, 0, sides[0] * sides[1]);
  std::vector<std::unique_ptr<GridLine>> lines;
  for (std::size_t d = 0; d < 2; ++d) {
    const Rows rows(sides, d);
    const bool switched = boards[d] > 1;
    const VertexId hub =
        wiring.add(d == 0 ? "row" : "column", VertexKind::kSwitch, 1, switched ? rows.count : 0);
    lines.push_back(make_board_line(boards[d], board[d], wiring.next_link()));
    for (std::uint32_t row = 0; row < rows.count; ++row) {
      for (std::uint32_t first = 0; first < rows.side; first += board[d]) {
        const std::uint32_t last = first + board[d] - 1;
        for (std::uint32_t c = first; c < last; ++c) {
          wiring.cable(rows.at(row, c), rows.at(row, c + 1), rate);
        }
        if (!switched) continue;
        wiring.cable(rows.at(row, first), hub + row, rate);
        wiring.cable(rows.at(row, last), hub + row, rate);
      }
    }
  }
  wiring.topology.facts.words = fmt::format(
      "HammingMesh: {} x {} boards of {} x {} endpoints, a switch for each row and column",
      boards[0], boards[1], board[0], board[1]);
  wiring.topology.facts.grid = sides;
  wiring.endpoints_forward = true;
  wiring.topology.paths = make_grid_paths(sides, std::move(lines));
  return wiring;
}

Wiring read_hamming_mesh(Parameters& p, std::uint32_t) {
  std::vector<std::uint32_t> boards = p.sides("boards", {4, 4}, 2, true);
  std::vector<std::uint32_t> board = p.sides("board", {2, 2}, 2, false);
  const LinkRate rate = p.link(50e9, 1e-6);
  boards.resize(2, 1);
  board.resize(2, 1);
  const double points = product(boards) * product(board);
  if (points < 2) p.complain("it has one endpoint; it must have at least 2");
  p.fits(points, 4 * points);
  return p.done() ? build_hamming_mesh(boards, board, rate) : Wiring{};
}

}  // namespace weft

#include "topology_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

namespace weft {
namespace {

constexpr double kMargin = 60;
constexpr std::size_t kMostInRow = 64, kMostHomes = 8;

using Neighbours = std::vector<std::vector<VertexId>>;

Neighbours neighbours_of(const Topology& topology) {
  Neighbours next(topology.vertices.size());
  for (const DirectedLink& link : topology.links) next[link.from].push_back(link.to);
  return next;
}

// Of many, `most` evenly spaced, the first and the last among them.
template <typename T>
std::vector<T> spaced(const std::vector<T>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

std::string left_out_note(const Topology& topology, std::size_t drawn) {
  const std::size_t all = topology.vertices.size();
  return drawn == all ? "" : fmt::format("{} of {} vertices are drawn", drawn, all);
}

void sort_by_id(Layout& layout) {
  std::sort(layout.vertices.begin(), layout.vertices.end(),
            [](const PlacedVertex& a, const PlacedVertex& b) { return a.vertex < b.vertex; });
}

// Whether the names of all these can stand side by side, each in `room` pixels.
bool names_fit(const Topology& topology, const std::vector<VertexId>& row, double room) {
  return std::all_of(row.begin(), row.end(), [&](VertexId v) {
    return 6.2 * static_cast<double>(topology.names.of(v).size()) <= room;
  });
}

// ---- tier by tier ----

// A few endpoints of a few homes (the first vertex each is joined to).
std::vector<VertexId> drawn_endpoints(const Topology& topology, const Neighbours& next) {
  std::map<VertexId, std::vector<VertexId>> by_home;
  for (VertexId v = 0; v < topology.endpoints; ++v) {
    by_home[next[v].empty() ? v : next[v][0]].push_back(v);
  }
  std::vector<std::vector<VertexId>> homes;
  for (auto& [home, members] : by_home) homes.push_back(std::move(members));
  const bool all = topology.endpoints <= kMostInRow;
  const std::vector<std::vector<VertexId>> kept = all ? homes : spaced(homes, kMostHomes);
  std::vector<VertexId> drawn;
  for (const std::vector<VertexId>& members : kept) {
    const auto some = all ? members : spaced(members, std::max<std::size_t>(2, 56 / kept.size()));
    drawn.insert(drawn.end(), some.begin(), some.end());
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

using Tiers = std::map<int, std::vector<VertexId>>;

// Upwards from the drawn endpoints, whatever is joined to what is drawn already.
Tiers drawn_tiers(const Topology& topology, const Neighbours& next) {
  int top = 0;
  for (const Vertex& vertex : topology.vertices) top = std::max(top, int{vertex.tier});
  Tiers tiers;
  tiers[0] = drawn_endpoints(topology, next);
  std::set<VertexId> drawn(tiers[0].begin(), tiers[0].end());
  for (int tier = 1; tier <= top; ++tier) {
    std::set<VertexId> here;
    for (const VertexId v : drawn) {
      for (const VertexId u : next[v]) {
        if (topology.vertices[u].tier == tier) here.insert(u);
      }
    }
    // Of switches that all look alike a few will do; the rest would hide them.
    const std::size_t most = here.size() > kMostInRow ? kMostInRow / 4 : kMostInRow;
    const auto some = spaced(std::vector<VertexId>(here.begin(), here.end()), most);
    drawn.insert(some.begin(), some.end());
    if (!some.empty()) tiers[tier] = some;
  }
  return tiers;
}

Layout tier_layout(const Topology& topology) {
  const Neighbours next = neighbours_of(topology);
  const Tiers tiers = drawn_tiers(topology, next);
  std::size_t widest = 1;
  for (const auto& [tier, row] : tiers) widest = std::max(widest, row.size());
  Layout layout;
  layout.width = std::clamp(static_cast<double>(widest) * 44, 600.0, 1500.0) + 2 * kMargin;
  layout.height =
      2 * kMargin + 150 * static_cast<double>(std::max<std::size_t>(1, tiers.size() - 1));
  std::map<VertexId, double> x_of;
  double y = layout.height - kMargin;
  for (const auto& [tier, row] : tiers) {
    // In the order of what they stand above, so that few lines cross.
    std::vector<std::pair<double, VertexId>> order;
    for (const VertexId v : row) {
      double sum = 0, count = 0;
      for (const VertexId u : next[v]) {
        const auto below = x_of.find(u);
        if (below == x_of.end()) continue;
        sum += below->second;
        ++count;
      }
      order.emplace_back(count > 0 ? std::round(sum / count) : 0, v);
    }
    std::sort(order.begin(), order.end());
    const double step = (layout.width - 2 * kMargin) / static_cast<double>(order.size());
    const bool named = names_fit(topology, row, step);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double x = kMargin + step * (static_cast<double>(i) + 0.5);
      layout.vertices.push_back({order[i].second, x, y, named});
      x_of[order[i].second] = x;
    }
    y -= 150;
  }
  layout.note = left_out_note(topology, layout.vertices.size());
  return layout;
}

// ---- grids ----

struct GridSpacing {
  std::vector<std::uint32_t> shown;  // points drawn of each side
  std::vector<double> dx, dy;        // pixels per step in each dimension
};

// Dimensions 0 and 1 lie in the plane, 2 goes back, further ones repeat the whole.
GridSpacing grid_spacing(const std::vector<std::uint32_t>& sides) {
  GridSpacing spacing;
  const double step = sides.size() > 2 ? 110 : 84;
  double across = step, down = step;
  for (std::size_t d = 0; d < sides.size(); ++d) {
    spacing.shown.push_back(std::min(sides[d], d < 2 ? (sides.size() > 2 ? 6U : 12U) : 4U));
    const double count = spacing.shown.back();
    const std::size_t axis = d % 3;
    spacing.dx.push_back(axis == 0 ? across : axis == 2 ? 30 : 0);
    spacing.dy.push_back(axis == 1 ? down : axis == 2 ? -24 : 0);
    if (axis == 2 && d > 2) spacing.dx.back() = 44;
    if (axis == 0) across *= count + 0.6;
    if (axis == 1) down *= count + 0.6;
  }
  return spacing;
}

// Switches of rows stand right of the grid, those of columns below it.
void place_hubs(const Topology& topology, const GridSpacing& spacing, Layout& layout) {
  std::map<VertexId, PlacedVertex> hubs;
  std::map<VertexId, const PlacedVertex*> placed;
  for (const PlacedVertex& p : layout.vertices) placed[p.vertex] = &p;
  const double right = spacing.dx[0] * spacing.shown[0] + kMargin + 30;
  const double bottom = spacing.dy[1] * spacing.shown[1] + kMargin + 30;
  for (const DirectedLink& link : topology.links) {
    const auto from = placed.find(link.from);
    if (from == placed.end() || topology.vertices[link.to].kind == VertexKind::kEndpoint) continue;
    const bool row = topology.names.of(link.to).starts_with("row");
    hubs[link.to] = {link.to, row ? right : from->second->x + 20,
                     row ? from->second->y - 20 : bottom, row};
  }
  for (const auto& [vertex, hub] : hubs) layout.vertices.push_back(hub);
}

Layout grid_layout(const Topology& topology) {
  const std::vector<std::uint32_t>& sides = topology.facts.grid;
  const GridSpacing spacing = grid_spacing(sides);
  Layout layout;
  double left = 0, right = 0, top = 0, bottom = 0;
  for (std::size_t d = 0; d < sides.size(); ++d) {
    const double steps = spacing.shown[d] - 1;
    (spacing.dx[d] > 0 ? right : left) += steps * spacing.dx[d];
    (spacing.dy[d] > 0 ? bottom : top) += steps * spacing.dy[d];
  }
  const bool named = topology.endpoints <= 144 && sides.size() <= 2;
  layout.kind = Layout::Kind::kGrid;
  std::size_t points = 1;
  for (const std::uint32_t shown : spacing.shown) points *= shown;
  for (std::size_t i = 0; i < points; ++i) {
    std::size_t rest = i;
    PlacedVertex p{0, kMargin - left, kMargin - top, named};
    std::uint32_t stride = 1;
    for (std::size_t d = 0; d < sides.size(); ++d) {
      const auto c = static_cast<std::uint32_t>(rest % spacing.shown[d]);
      rest /= spacing.shown[d];
      p.vertex += c * stride;
      stride *= sides[d];
      p.x += c * spacing.dx[d];
      p.y += c * spacing.dy[d];
    }
    layout.vertices.push_back(p);
  }
  layout.width = right - left + 2 * kMargin;
  layout.height = bottom - top + 2 * kMargin;
  if (topology.endpoints < topology.vertices.size()) {
    place_hubs(topology, spacing, layout);
    layout.width += 110;
    layout.height += 110;
  }
  sort_by_id(layout);
  layout.note = left_out_note(topology, layout.vertices.size());
  return layout;
}

// ---- groups in a circle ----

Layout group_layout(const Topology& topology) {
  const std::vector<std::uint16_t>& group_of = topology.facts.group_of;
  const std::uint32_t groups = *std::max_element(group_of.begin(), group_of.end()) + 1U;
  const std::uint32_t shown = std::min(groups, 12U);
  std::map<std::pair<std::uint32_t, int>, std::vector<VertexId>> rows;
  for (VertexId v = 0; v < topology.vertices.size(); ++v) {
    if (group_of[v] < shown) rows[{group_of[v], topology.vertices[v].tier}].push_back(v);
  }
  const bool layered = topology.endpoints < topology.vertices.size();
  Layout layout;
  layout.width = layout.height = 1000;
  layout.kind = Layout::Kind::kCircle;
  std::map<int, bool> names_of_tier;  // those of all groups, or of none
  const double arc = 2 * std::numbers::pi / shown;
  for (const auto& [key, members] : rows) {
    const auto& [group, tier] = key;
    const auto drawn = spaced(members, shown == 1 ? 96 : std::max<std::size_t>(4, 192 / shown));
    const double radius = layered ? 430 - 75 * tier : 430;
    const double width = shown == 1 ? arc : arc * 0.8;
    const double room = width * radius / static_cast<double>(drawn.size());
    const auto [fits, fresh] = names_of_tier.try_emplace(tier, true);
    fits->second = fits->second && names_fit(topology, drawn, tier == 0 ? 2 * room : room);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(drawn.size());
      const double angle = group * arc + width * (place - 0.5) - std::numbers::pi / 2;
      layout.vertices.push_back(
          {drawn[i], 500 + radius * std::cos(angle), 500 + radius * std::sin(angle)});
    }
  }
  for (PlacedVertex& placed : layout.vertices) {
    placed.named = names_of_tier[topology.vertices[placed.vertex].tier];
  }
  sort_by_id(layout);
  layout.note = left_out_note(topology, layout.vertices.size());
  return layout;
}

}  // namespace

Layout lay_out(const Topology& topology) {
  if (!topology.facts.group_of.empty()) return group_layout(topology);
  const auto& grid = topology.facts.grid;
  const auto long_sides =
      std::count_if(grid.begin(), grid.end(), [](std::uint32_t side) { return side > 1; });
  if (long_sides == 1) {  // a ring is best seen as one
    Topology ring = topology;
    ring.facts.group_of.assign(topology.vertices.size(), 0);
    return group_layout(ring);
  }
  return grid.empty() ? tier_layout(topology) : grid_layout(topology);
}

}  // namespace weft

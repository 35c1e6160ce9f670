#include "topology_svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/quantity.h"
#include "base/table.h"
#include "topology_layout.h"

namespace weft {
namespace {

constexpr std::array<const char*, 4> kKindNames = {"endpoint", "NIC", "switch",
                                                   "PCIe switch or socket"};
constexpr std::array<const char*, 4> kKindColors = {"#2f6fb2", "#7a9b3f", "#c2571a", "#8a8a8a"};
// Fastest first; slower ones share the last.
constexpr std::array<const char*, 6> kSpeedColors = {"#7b2d8e", "#b0413e", "#3a7d44",
                                                     "#2f6fb2", "#9a7d0a", "#777777"};

class TopologyDrawing {
 public:
  explicit TopologyDrawing(const Topology& topology)
      : topology_(topology), layout_(lay_out(topology)) {
    for (const PlacedVertex& placed : layout_.vertices) at_[placed.vertex] = &placed;
    std::set<double, std::greater<>> speeds;
    for (const DirectedLink& link : topology.links) speeds.insert(link.bytes_per_s);
    speeds_.assign(speeds.begin(), speeds.end());
  }

  std::string text() {
    const double width = std::max(layout_.width, 560.0);
    const double legend = 66 + 20 * static_cast<double>((speeds_.size() + 1) / 2);
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, layout_.height + legend);
    links();
    vertices();
    legend_at(layout_.height);
    return out_ + "</svg>\n";
  }

 private:
  const PlacedVertex* place(VertexId v) const {
    const auto found = at_.find(v);
    return found == at_.end() ? nullptr : found->second;
  }

  const char* color(double speed) const {
    const auto rank = static_cast<std::size_t>(
        std::lower_bound(speeds_.begin(), speeds_.end(), speed, std::greater<>()) -
        speeds_.begin());
    return kSpeedColors[std::min(rank, kSpeedColors.size() - 1)];
  }

  // Whether two endpoints of a grid are neighbours around its edge, or far apart in the picture.
  bool wraps(const PlacedVertex& a, const PlacedVertex& b) const {
    if (a.vertex >= topology_.endpoints || b.vertex >= topology_.endpoints) return false;
    std::uint32_t below = 1;
    for (const std::uint32_t side : topology_.facts.grid) {
      const std::uint32_t x = a.vertex / below % side, y = b.vertex / below % side;
      if (std::max(x, y) - std::min(x, y) > 1) return true;
      below *= side;
    }
    return std::hypot(b.x - a.x, b.y - a.y) > 160;
  }

  void links() {
    std::set<std::pair<VertexId, VertexId>> drawn;
    out_ += "<g fill=\"none\" stroke-width=\"1.2\" stroke-opacity=\"0.6\">\n";
    for (const DirectedLink& link : topology_.links) {
      const PlacedVertex* a = place(link.from);
      const PlacedVertex* b = place(link.to);
      if (a == nullptr || b == nullptr) continue;
      if (!drawn.insert(std::minmax(link.from, link.to)).second) continue;
      out_ +=
          fmt::format("<path stroke=\"{}\" d=\"{}\"/>\n", color(link.bytes_per_s), curve(*a, *b));
    }
    out_ += "</g>\n";
  }

  std::string curve(const PlacedVertex& a, const PlacedVertex& b) const {
    const auto control = bow(a, b);
    if (!control) return fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", a.x, a.y, b.x, b.y);
    return fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", a.x, a.y, control->first,
                       control->second, b.x, b.y);
  }

  // The point that pulls a line aside, where a straight one would hide behind others.
  std::optional<std::pair<double, double>> bow(const PlacedVertex& a, const PlacedVertex& b) const {
    const double mx = (a.x + b.x) / 2, my = (a.y + b.y) / 2;
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    if (layout_.kind == Layout::Kind::kTiers) {  // two of one row: above it
      if (a.y == b.y) return std::pair{mx, my - 20 - length * 0.12};
      return std::nullopt;
    }
    if (layout_.kind == Layout::Kind::kGrid) {
      if (!wraps(a, b)) return std::nullopt;
      return a.x == b.x ? std::pair{mx - 36, my} : std::pair{mx, my - 36};
    }
    const auto& group = topology_.facts.group_of;
    const bool near = !group.empty() && group[a.vertex] == group[b.vertex] &&
                      topology_.endpoints < topology_.vertices.size();
    const bool level = topology_.vertices[a.vertex].tier == topology_.vertices[b.vertex].tier;
    if (near && !level) return std::nullopt;
    const double middle = layout_.width / 2, pull = near ? 0.08 : 0.25;
    return std::pair{mx + (middle - mx) * pull, my + (middle - my) * pull};
  }

  void shape(VertexKind kind, double x, double y) {
    const char* fill = kKindColors[static_cast<std::size_t>(kind)];
    if (kind == VertexKind::kEndpoint) {
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\" fill=\"{}\"/>", x, y, fill);
    } else {
      const double w = kind == VertexKind::kSwitch ? 20 : 11;
      out_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"12\" rx=\"2\" fill=\"{}\"/>",
          x - w / 2, y - 6, w, fill);
    }
  }

  void vertices() {
    for (const PlacedVertex& placed : layout_.vertices) {
      const Vertex& vertex = topology_.vertices[placed.vertex];
      const std::string name = topology_.names.of(placed.vertex);
      out_ += "<g>";
      shape(vertex.kind, placed.x, placed.y);
      out_ += fmt::format("<title>{}</title>", escaped_text(name));
      if (placed.named) label(placed, vertex.kind, name);
      out_ += "</g>\n";
    }
  }

  void label(const PlacedVertex& placed, VertexKind kind, const std::string& name) {
    double x = placed.x, y = placed.y + (kind == VertexKind::kEndpoint ? 19 : -10);
    const char* anchor = "middle";
    if (layout_.kind == Layout::Kind::kGrid && kind == VertexKind::kEndpoint) {
      x += 8;
      y -= 4;
      anchor = "start";
    } else if (layout_.kind == Layout::Kind::kCircle && kind == VertexKind::kEndpoint) {
      const double middle = layout_.width / 2;
      const double radius = std::hypot(placed.x - middle, placed.y - middle);
      x = placed.x + (placed.x - middle) / radius * 24;
      y = placed.y + (placed.y - middle) / radius * 16 + 4;
    }
    // A white edge keeps the name readable where lines cross it.
    out_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"#222\" stroke=\"white\" "
        "stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
        x, y, anchor, escaped_text(name));
  }

  void legend_at(double y) {
    const std::string note = layout_.note.empty() ? "" : " (" + layout_.note + ")";
    out_ += fmt::format("<text x=\"20\" y=\"{:.0f}\" font-size=\"13\">{}{}</text>\n", y + 14,
                        escaped_text(topology_.facts.words), note);
    double x = 30;
    for (std::size_t kind = 0; kind < kKindNames.size(); ++kind) {
      const bool used = std::any_of(
          layout_.vertices.begin(), layout_.vertices.end(), [&](const PlacedVertex& placed) {
            return static_cast<std::size_t>(topology_.vertices[placed.vertex].kind) == kind;
          });
      if (!used) continue;
      shape(static_cast<VertexKind>(kind), x, y + 36);
      out_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 16, y + 40,
                          kKindNames[kind]);
      x += 40 + 7.0 * static_cast<double>(std::string_view(kKindNames[kind]).size());
    }
    for (std::size_t i = 0; i < std::min(speeds_.size(), kSpeedColors.size()); ++i) {
      const double left = 20 + 200 * static_cast<double>(i % 2);
      const double line = y + 62 + 20 * static_cast<double>(i / 2);
      const bool rest = i + 1 == kSpeedColors.size() && speeds_.size() > kSpeedColors.size();
      out_ += fmt::format(
          "<path stroke=\"{}\" stroke-width=\"3\" d=\"M{:.0f} {:.0f}h26\"/>"
          "<text x=\"{:.0f}\" y=\"{:.0f}\">{}{} a direction</text>\n",
          kSpeedColors[i], left, line - 4, left + 34, line, bytes_per_s_text(speeds_[i]),
          rest ? " and less" : "");
    }
  }

  const Topology& topology_;
  Layout layout_;
  std::map<VertexId, const PlacedVertex*> at_;
  std::vector<double> speeds_;
  std::string out_;
};

}  // namespace

std::string topology_svg(const Topology& topology) { return TopologyDrawing(topology).text(); }

}  // namespace weft

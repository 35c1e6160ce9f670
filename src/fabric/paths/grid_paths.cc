#include "fabric/paths/grid_paths.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace weft {
namespace {

class RingLine final : public GridLine {
 public:
  RingLine(std::uint32_t side, LinkId first)
      : side_(side), cables_(side == 2 ? 1 : side), first_(first) {}

  std::uint32_t ways(std::uint32_t a, std::uint32_t b) const override {
    return side_ > 2 && ahead(a, b) * 2 == side_ ? 2 : 1;
  }

  void walk(std::uint32_t row, std::uint32_t a, std::uint32_t b, std::uint32_t way,
            std::vector<LinkId>& out) const override {
    const LinkId base = first_ + 2 * row * cables_;
    if (side_ == 2) return out.push_back(base + a);  // 0 → 1 is the cable, 1 → 0 its way back
    const std::uint32_t steps = ahead(a, b);
    const bool forward = steps * 2 < side_ || (steps * 2 == side_ && way == 0);
    for (std::uint32_t at = a; at != b;) {
      const std::uint32_t next = forward ? (at + 1) % side_ : (at + side_ - 1) % side_;
      out.push_back(base + 2 * (forward ? at : next) + (forward ? 0 : 1));
      at = next;
    }
  }

 private:
  std::uint32_t ahead(std::uint32_t a, std::uint32_t b) const { return (b + side_ - a) % side_; }

  std::uint32_t side_, cables_;
  LinkId first_;
};

class BoardLine final : public GridLine {
 public:
  BoardLine(std::uint32_t boards, std::uint32_t board, LinkId first)
      : boards_(boards), board_(board), first_(first) {}

  std::uint32_t ways(std::uint32_t a, std::uint32_t b) const override {
    std::array<Way, 5> found;
    return shortest(a, b, found);
  }

  void walk(std::uint32_t row, std::uint32_t a, std::uint32_t b, std::uint32_t way,
            std::vector<LinkId>& out) const override {
    std::array<Way, 5> found;
    CHECK(way < shortest(a, b, found));
    if (found[way].direct) return along(row, a, b, out);
    const std::uint32_t leave = a / board_ * board_ + (found[way].leave_last ? board_ - 1 : 0);
    const std::uint32_t enter = b / board_ * board_ + (found[way].enter_last ? board_ - 1 : 0);
    along(row, a, leave, out);
    out.push_back(to_switch(row, a / board_, found[way].leave_last));
    out.push_back(to_switch(row, b / board_, found[way].enter_last) + 1);
    along(row, enter, b, out);
  }

 private:
  struct Way {
    bool direct = false, leave_last = false, enter_last = false;
  };

  bool has_switch() const { return boards_ > 1; }
  std::uint32_t cables_per_board() const { return board_ - 1 + (has_switch() ? 2 : 0); }
  LinkId base(std::uint32_t row, std::uint32_t board) const {
    return first_ + 2 * (row * boards_ + board) * cables_per_board();
  }
  LinkId to_switch(std::uint32_t row, std::uint32_t board, bool last) const {
    return base(row, board) + 2 * (board_ - 1 + (last ? 1 : 0));
  }

  std::uint32_t length(std::uint32_t a, std::uint32_t b, const Way& way) const {
    const std::uint32_t x = a % board_, y = b % board_;
    if (way.direct) return x < y ? y - x : x - y;
    return (way.leave_last ? board_ - 1 - x : x) + 2 + (way.enter_last ? board_ - 1 - y : y);
  }

  // Fills `found` with the shortest ways and returns how many there are.
  std::uint32_t shortest(std::uint32_t a, std::uint32_t b, std::array<Way, 5>& found) const {
    std::uint32_t count = 0, least = UINT32_MAX;
    const auto offer = [&](const Way& way) {
      const std::uint32_t hops = length(a, b, way);
      if (hops < least) count = 0;
      least = std::min(least, hops);
      if (hops == least) found[count++] = way;
    };
    const bool same = a / board_ == b / board_;
    if (same) offer({true, false, false});
    for (int ends = 0; has_switch() && ends < 4; ++ends) {
      const Way way{false, (ends & 1) != 0, (ends & 2) != 0};
      // On one board, out and in by the same end is a detour; a board of one has one cable too many
      // to tell its ends apart by distance, and both are listed.
      if (!(same && way.leave_last == way.enter_last)) offer(way);
    }
    return count;
  }

  void along(std::uint32_t row, std::uint32_t a, std::uint32_t b, std::vector<LinkId>& out) const {
    const LinkId inner = base(row, a / board_);
    for (std::uint32_t x = a % board_; x < b % board_; ++x) out.push_back(inner + 2 * x);
    for (std::uint32_t x = a % board_; x > b % board_; --x) out.push_back(inner + 2 * (x - 1) + 1);
  }

  std::uint32_t boards_, board_;
  LinkId first_;
};

class GridPaths final : public Paths {
 public:
  GridPaths(std::vector<std::uint32_t> sides, std::vector<std::unique_ptr<GridLine>> lines)
      : sides_(std::move(sides)), lines_(std::move(lines)) {
    CHECK(sides_.size() == lines_.size() && sides_.size() <= kMostDimensions);
  }

  std::uint32_t count(VertexId a, VertexId b) const override {
    Course course(*this, a, b);
    std::uint32_t ways = 1;
    for (std::uint32_t i = 0; i < course.length; ++i) {
      if (i < kMostOrdered) ways *= i + 1;
      const std::uint32_t d = course.order[i];
      ways *= lines_[d]->ways(course.from[d], course.to[d]);
    }
    return ways;
  }

  void path(VertexId a, VertexId b, std::uint32_t k, std::vector<LinkId>& out) const override {
    Course course(*this, a, b);
    // The low digits of k choose the order of the dimensions (by moving one of those left to the
    // front, again and again), the high ones the way along each line.
    const std::uint32_t ordered = std::min(course.length, kMostOrdered);
    for (std::uint32_t i = 0; i < ordered; ++i) {
      const auto at = course.order.begin() + i;
      std::rotate(at, at + k % (ordered - i), at + k % (ordered - i) + 1);
      k /= ordered - i;
    }
    VertexId at = a;
    for (std::uint32_t i = 0; i < course.length; ++i) {
      const std::uint32_t d = course.order[i];
      const std::uint32_t ways = lines_[d]->ways(course.from[d], course.to[d]);
      lines_[d]->walk(row_of(at, d), course.from[d], course.to[d], k % ways, out);
      k /= ways;
      at = at + (course.to[d] - course.from[d]) * stride(d);  // modulo 2^32, as it should
    }
    CHECK(at == b && k == 0);
  }

 private:
  static constexpr std::size_t kMostDimensions = 20;

  // The coordinates of both ends and the dimensions in which they differ.
  struct Course {
    std::array<std::uint32_t, kMostDimensions> from{}, to{}, order{};
    std::uint32_t length = 0;

    Course(const GridPaths& grid, VertexId a, VertexId b) {
      for (std::uint32_t d = 0; d < grid.sides_.size(); ++d) {
        from[d] = a % grid.sides_[d];
        to[d] = b % grid.sides_[d];
        a /= grid.sides_[d];
        b /= grid.sides_[d];
        if (from[d] != to[d]) order[length++] = d;
      }
    }
  };

  std::uint32_t stride(std::uint32_t d) const {
    std::uint32_t product = 1;
    for (std::uint32_t i = 0; i < d; ++i) product *= sides_[i];
    return product;
  }
  std::uint32_t row_of(VertexId v, std::uint32_t d) const {
    const std::uint32_t below = stride(d);
    return v / (below * sides_[d]) * below + v % below;
  }

  std::vector<std::uint32_t> sides_;
  std::vector<std::unique_ptr<GridLine>> lines_;
};

}  // namespace

std::unique_ptr<GridLine> make_ring_line(std::uint32_t side, LinkId first) {
  return std::make_unique<RingLine>(side, first);
}

std::unique_ptr<GridLine> make_board_line(std::uint32_t boards, std::uint32_t board, LinkId first) {
  return std::make_unique<BoardLine>(boards, board, first);
}

std::shared_ptr<const Paths> make_grid_paths(std::vector<std::uint32_t> sides,
                                             std::vector<std::unique_ptr<GridLine>> lines) {
  return std::make_shared<GridPaths>(std::move(sides), std::move(lines));
}

}  // namespace weft

#include "planner/minimize.h"

#include <algorithm>

namespace weft::planner {
namespace {

using Point = std::vector<double>;
using Function = std::function<double(const Point&)>;

struct Corner {
  Point at;
  double value = 0;
};

// from + factor * (to - from)
Point towards(const Point& from, const Point& to, double factor) {
  Point out(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) out[i] = from[i] + factor * (to[i] - from[i]);
  return out;
}

class Simplex {
 public:
  Simplex(const Function& function, const Point& start, double step) : function_(function) {
    add(start);
    for (std::size_t i = 0; i < start.size(); ++i) {
      Point other = start;
      other[i] += step;
      add(std::move(other));
    }
  }

  int calls() const { return calls_; }

  Corner best() {
    sort();
    return corners_.front();
  }

  void improve() {
    sort();
    Corner& worst = corners_.back();
    const Point middle = centre();
    const Corner mirrored = tried(towards(middle, worst.at, -1));
    if (mirrored.value < corners_.front().value) {
      const Corner further = tried(towards(middle, worst.at, -2));
      worst = further.value < mirrored.value ? further : mirrored;
    } else if (mirrored.value < corners_[corners_.size() - 2].value) {
      worst = mirrored;
    } else {
      const Corner nearer =
          tried(towards(middle, mirrored.value < worst.value ? mirrored.at : worst.at, 0.5));
      if (nearer.value < std::min(mirrored.value, worst.value)) {
        worst = nearer;
      } else {
        shrink();
      }
    }
  }

 private:
  Corner tried(Point at) {
    ++calls_;
    const double value = function_(at);
    return {std::move(at), value};
  }
  void add(Point at) { corners_.push_back(tried(std::move(at))); }

  void sort() {
    std::stable_sort(corners_.begin(), corners_.end(),
                     [](const Corner& a, const Corner& b) { return a.value < b.value; });
  }

  // Of all but the worst.
  Point centre() const {
    Point sum(corners_.front().at.size(), 0);
    const double count = static_cast<double>(corners_.size() - 1);
    for (std::size_t c = 0; c + 1 < corners_.size(); ++c) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += corners_[c].at[i] / count;
    }
    return sum;
  }

  void shrink() {
    for (std::size_t c = 1; c < corners_.size(); ++c) {
      corners_[c] = tried(towards(corners_[0].at, corners_[c].at, 0.5));
    }
  }

  const Function& function_;
  std::vector<Corner> corners_;
  int calls_ = 0;
};

}  // namespace

std::vector<double> minimize(const Function& function, std::vector<double> start, double step,
                             int calls) {
  constexpr int kStarts = 3;
  if (start.empty()) return start;
  for (int round = 0; round < kStarts; ++round) {
    // The other way round every second time, so that both sides of each variable are seen.
    Simplex simplex(function, start, round % 2 == 0 ? step : -step);
    while (simplex.calls() < calls / kStarts) simplex.improve();
    start = simplex.best().at;
  }
  return start;
}

}  // namespace weft::planner

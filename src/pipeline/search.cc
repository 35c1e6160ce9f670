#include "pipeline/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "pipeline/builder.h"
#include "pipeline/solve.h"
#include "pipeline/v_shape.h"
#include "pipeline/weights.h"

namespace weft::pipeline {
namespace {

constexpr int kLongestOffset = 4;
constexpr double kSteepest = 3;
constexpr double kSlopeStep = 0.125;
constexpr double kMaxSearchedWorks = 1 << 18;

Error refused(std::string what) { return {ErrorKind::kInvalidInput, std::move(what), ""}; }

class Search {
 public:
  explicit Search(const SearchRequest& request) : r_(request) {}

  Status run() {
    if (const Status status = try_rows(); !status.ok()) return status;
    try_v_shapes();
    refine_row();
    return {};
  }
  std::optional<Schedule>& best() { return best_; }

 private:
  Request request() const { return {.stages = r_.stages, .micro_batches = r_.micro_batches}; }

  // 1F1B with the given number of forwards before the first backward on each device.
  Schedule row(const std::vector<int>& ahead) const {
    Schedule s = empty_schedule("search", request());
    for (int d = 0; d < s.devices; ++d) {
      one_forward_one_backward(
          s.micro_batches, ahead[static_cast<std::size_t>(d)] - 1,
          [&](int m) {
            add(s, d, Kind::kForward, {m, d});
          },
          [&](int m) {
            add(s, d, Kind::kBackwardInput, {m, d});
          });
    }
    return s;
  }

  // Completes and times a candidate; whether it is the best so far.
  Result<bool> consider(Schedule passes) {
    Costs costs = even_costs(passes, r_.share);
    costs.slowdown = r_.slowdown;
    costs.transfer = r_.transfer;
    costs.optimizer = r_.optimizer;
    costs.idle_watts = r_.idle_watts;
    if (const Status status = apply_costs(passes, costs); !status.ok()) return status.error();
    Schedule s = finished(with_weight_gradients(std::move(passes), costs, r_.limit));
    if (const Status status = apply_costs(s, costs); !status.ok()) return status.error();
    s.limits.assign(static_cast<std::size_t>(s.devices), r_.limit);
    const Result<Timeline> timeline = solve(s);
    if (!timeline.ok()) return timeline.error();
    for (const double peak : timeline->peak_activations) {
      if (peak > r_.limit * (1 + kRounding)) return false;
    }
    if (best_ && timeline->makespan >= makespan_ * (1 - kRounding)) return false;
    best_ = std::move(s);
    best_->name = "search";
    makespan_ = timeline->makespan;
    return true;
  }

  Status try_rows() {
    const int room = static_cast<int>(std::min<double>(r_.limit, r_.micro_batches));
    for (double slope = 0; slope <= kSteepest; slope += kSlopeStep) {
      std::vector<int> ahead;
      for (int d = 0; d < r_.stages; ++d) {
        const int wanted = 1 + static_cast<int>(std::ceil(slope * (r_.stages - 1 - d)));
        ahead.push_back(std::min(room, wanted));
      }
      const Result<bool> better = consider(row(ahead));
      if (!better.ok()) return better.error();
      if (*better) ahead_ = ahead;
    }
    return {};
  }

  void try_v_shapes() {
    std::array<int, 4> offset = {};
    for (offset[0] = 1; offset[0] <= kLongestOffset; ++offset[0]) {
      for (offset[1] = 1; offset[1] <= kLongestOffset; ++offset[1]) {
        for (offset[2] = 1; offset[2] <= kLongestOffset; ++offset[2]) {
          for (offset[3] = 1; offset[3] <= kLongestOffset; ++offset[3]) {
            std::optional<VShape> shape = make_v_shape(request(), offset);
            if (shape) CHECK(consider(std::move(shape->passes)).ok());
          }
        }
      }
    }
  }

  // One forward more or less ahead, device by device, while it helps.
  void refine_row() {
    for (bool better = true; better && best_->chunks == r_.stages;) {
      better = false;
      for (std::size_t d = 0; d < ahead_.size(); ++d) {
        for (const int change : {1, -1}) {
          std::vector<int> changed = ahead_;
          changed[d] += change;
          if (changed[d] < 1 || changed[d] > r_.limit || changed[d] > r_.micro_batches) continue;
          // The stage behind must not wait for forwards that this one does not send.
          if (d + 1 < changed.size() && changed[d] < changed[d + 1]) continue;
          if (d > 0 && changed[d - 1] < changed[d]) continue;
          const Result<bool> result = consider(row(changed));
          if (!result.ok() || !*result) continue;
          ahead_ = changed;
          better = true;
        }
      }
    }
  }

  const SearchRequest& r_;
  std::optional<Schedule> best_;
  double makespan_ = 0;
  std::vector<int> ahead_;
};

}  // namespace

Result<Schedule> search_schedule(const SearchRequest& r) {
  if (r.stages < 1 || r.micro_batches < 1 || 1.0 * r.stages * r.micro_batches > kMaxSearchedWorks) {
    return refused(
        fmt::format("search: {} stages and {} micro-batches; both must be at least 1 and "
                    "their product at most {}",
                    r.stages, r.micro_batches, kMaxSearchedWorks));
  }
  if (!(r.limit >= 1)) {
    return refused(
        fmt::format("search: the limit is {} activations; a forward pass holds 1", r.limit));
  }
  Search search(r);
  if (const Status status = search.run(); !status.ok()) return status.error();
  CHECK(search.best().has_value());  // one forward ahead always fits
  return std::move(*search.best());
}

}  // namespace weft::pipeline

#include "pipeline/greedy.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "pipeline/builder.h"
#include "pipeline/solve.h"

namespace weft::pipeline {
namespace {

class Greedy {
 public:
  explicit Greedy(Schedule& schedule) : s_(schedule), ready_(schedule.programs.size()) {
    for (int m = 0; m < s_.micro_batches; ++m) offer(true, {m, 0});
  }

  void run() {
    for (std::vector<Op> running = start_all(); !running.empty(); running = start_all()) {
      for (const Op& op : running) end(op);
    }
  }

 private:
  // Backward passes first, then by micro-batch.
  using Key = std::tuple<bool, int, int>;

  void offer(bool forward, const Work& work) {
    ready_[static_cast<std::size_t>(s_.device(work))].insert(
        {forward, work.micro_batch, work.chunk});
  }

  std::vector<Op> start_all() {
    std::vector<Op> started;
    for (std::size_t d = 0; d < ready_.size(); ++d) {
      if (ready_[d].empty()) continue;
      const auto [forward, micro_batch, chunk] = *ready_[d].begin();
      ready_[d].erase(ready_[d].begin());
      add(s_, static_cast<int>(d), forward ? Kind::kForward : Kind::kBackward,
          {micro_batch, chunk});
      started.push_back(s_.programs[d].back());
    }
    return started;
  }

  void end(const Op& op) {
    const Work& work = op.work;
    if (op.kind == Kind::kBackward) {
      if (work.chunk > 0) offer(false, {work.micro_batch, work.chunk - 1});
    } else if (work.chunk + 1 < s_.chunks) {
      offer(true, {work.micro_batch, work.chunk + 1});
    } else {
      offer(false, work);
    }
  }

  Schedule& s_;
  std::vector<std::set<Key>> ready_;
};

}  // namespace

void fill_in_units(Schedule& s) {
  Schedule unit = s;
  unit.micro_batches = s.devices;
  for (int m = s.micro_batches; m < s.devices && !s.route_of.empty(); ++m) {
    unit.route_of.push_back(s.route(m % static_cast<int>(s.routes.size())));
  }
  if (!s.route_of.empty()) unit.route_of.resize(static_cast<std::size_t>(s.devices));
  Greedy(unit).run();
  unit = finished(std::move(unit));
  const Result<Timeline> timeline = solve(unit);
  CHECK(timeline.ok());
  const double pace = *std::max_element(timeline->busy.begin(), timeline->busy.end());
  for (std::size_t d = 0; d < unit.programs.size(); ++d) {
    std::vector<std::pair<double, Op>> passes;
    for (int first = 0; first < s.micro_batches; first += unit.micro_batches) {
      for (std::size_t i = 0; i + 1 < unit.programs[d].size(); ++i) {  // the last is the optimizer
        Op op = unit.programs[d][i];
        op.work.micro_batch += first;
        if (op.work.micro_batch >= s.micro_batches) continue;
        passes.push_back({timeline->spans[d][i].begin + pace * first / unit.micro_batches, op});
      }
    }
    std::stable_sort(passes.begin(), passes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& pass : passes) s.programs[d].push_back(pass.second);
  }
}

}  // namespace weft::pipeline

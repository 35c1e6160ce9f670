#include "pipeline/weights.h"

#include <algorithm>
#include <deque>

#include "base/check.h"
#include "pipeline/solve.h"

namespace weft::pipeline {
namespace {

// When a pass ends that has not been placed.
constexpr double kUnplaced = -1;

// Runs the passes in their order. A weight gradient concerns its own device only, so a gap can be
// filled as soon as its end is known, in whatever order the devices are looked at.
class Filler {
 public:
  Filler(const Schedule& schedule, const Costs& costs, double room)
      : s_(schedule),
        costs_(costs),
        room_(room),
        forward_(schedule.works(), kUnplaced),
        backward_(schedule.works(), kUnplaced),
        states_(schedule.programs.size()) {}

  std::vector<std::vector<Op>> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < states_.size(); ++d) {
        while (step(d)) moved = true;
      }
    }
    std::vector<std::vector<Op>> programs;
    for (std::size_t d = 0; d < states_.size(); ++d) {
      CHECK(states_[d].at == s_.programs[d].size());
      while (!states_[d].pending.empty()) weight(d);
      programs.push_back(std::move(states_[d].out));
    }
    return programs;
  }

 private:
  struct State {
    std::size_t at = 0;
    double clock = 0;
    double held = 0;
    std::deque<Work> pending;
    std::vector<Op> out;
  };

  const ChunkCost& cost(const Work& work) const {
    return costs_.chunks[costs_.chunks.size() == 1 ? 0 : static_cast<std::size_t>(work.chunk)];
  }
  double slow(std::size_t d) const { return costs_.slowdown.empty() ? 1 : costs_.slowdown[d]; }
  double amount(const Work& work) const {
    return s_.activation[static_cast<std::size_t>(work.chunk)];
  }

  // When what a pass needs from another chunk is there; kUnplaced when that is not known.
  double arrival(std::size_t d, const Op& op) const {
    const bool forward = op.kind == Kind::kForward;
    const Work from{op.work.micro_batch, op.work.chunk + (forward ? -1 : 1), op.work.slice};
    if (from.chunk < 0) return 0;
    if (from.chunk == s_.chunks) return forward_[s_.number(op.work)];
    const double end = (forward ? forward_ : backward_)[s_.number(from)];
    if (end == kUnplaced) return kUnplaced;
    return s_.device(from) == static_cast<int>(d) ? end : end + costs_.transfer;
  }

  bool step(std::size_t d) {
    State& state = states_[d];
    if (state.at == s_.programs[d].size()) return false;
    const Op& op = s_.programs[d][state.at];
    const double ready = arrival(d, op);
    if (ready == kUnplaced) return false;
    const bool forward = op.kind == Kind::kForward;
    while (!state.pending.empty() && must_or_may(d, op, ready)) weight(d);
    const ChunkCost& times = cost(op.work);
    state.clock = std::max(state.clock, ready) +
                  (forward ? times.forward : times.backward_input) * slow(d) / s_.slices;
    (forward ? forward_ : backward_)[s_.number(op.work)] = state.clock;
    if (forward) {
      state.held += amount(op.work);
    } else {
      state.pending.push_back(op.work);
    }
    state.out.push_back(op);
    ++state.at;
    return true;
  }

  bool must_or_may(std::size_t d, const Op& op, double ready) const {
    const State& state = states_[d];
    const double seconds = cost(state.pending.front()).weight_gradient * slow(d) / s_.slices;
    if (state.clock + seconds <= ready * (1 + kRounding)) return true;
    return op.kind == Kind::kForward && state.held + amount(op.work) > room_ * (1 + kRounding);
  }

  void weight(std::size_t d) {
    State& state = states_[d];
    Op op;
    op.kind = Kind::kWeightGradient;
    op.work = state.pending.front();
    state.pending.pop_front();
    state.clock += cost(op.work).weight_gradient * slow(d) / s_.slices;
    state.held -= amount(op.work);
    state.out.push_back(op);
  }

  const Schedule& s_;
  const Costs& costs_;
  double room_;
  std::vector<double> forward_, backward_;  // ends, by work
  std::vector<State> states_;
};

}  // namespace

Schedule with_weight_gradients(Schedule s, const Costs& costs, double room) {
  s.programs = Filler(s, costs, room).run();
  return s;
}

}  // namespace weft::pipeline

#include "pipeline/memory.h"

#include <algorithm>
#include <cstdint>

namespace weft::pipeline {
namespace {

class Ledger {
 public:
  Ledger(const Schedule& schedule, const Index& index)
      : s_(schedule), x_(index), changes_(schedule.programs.size()), guests_(changes_.size()) {}

  void add(std::size_t d, const Op& op, const Span& span) {
    if (runs_forward(op.kind)) {
      change(d, span.begin, amount(op.work));
      if (x_.recompute[s_.number(op.work)] != kNone) {
        change(d, span.end, -amount(op.work) * (1 - s_.checkpoint_part));
      }
    }
    if (op.kind == Kind::kRecompute) {
      change(d, span.begin, amount(op.work) * (1 - s_.checkpoint_part));
    }
    if (op.kind == Kind::kOffload || op.kind == Kind::kReload) move(d, op, span);
    if (runs_backward(op.kind)) {
      const bool whole = op.kind != Kind::kBackwardInput;
      change(d, span.end, -amount(backward_work(op)) * (whole ? 1 : 1 - s_.weight_part));
    }
    if (op.kind == Kind::kWeightGradient) change(d, span.end, -amount(op.work) * s_.weight_part);
  }

  std::vector<std::vector<MemoryChange>> take() {
    for (std::size_t d = 0; d < changes_.size(); ++d) {
      if (guests_[d].empty()) continue;
      changes_[d].insert(changes_[d].end(), guests_[d].begin(), guests_[d].end());
      std::stable_sort(changes_[d].begin(), changes_[d].end(),
                       [](const MemoryChange& a, const MemoryChange& b) {
                         return a.at < b.at || (a.at == b.at && a.amount < 0 && b.amount >= 0);
                       });
    }
    return std::move(changes_);
  }

 private:
  double amount(const Work& work) const {
    return s_.activation[static_cast<std::size_t>(work.chunk)];
  }

  void change(std::size_t d, double at, double amount) { changes_[d].push_back({at, amount}); }

  void move(std::size_t d, const Op& op, const Span& span) {
    const bool leaves = op.kind == Kind::kOffload;
    const bool kept = x_.recompute[s_.number(op.work)] != kNone;
    const double size = amount(op.work) * (kept ? s_.checkpoint_part : 1);
    change(d, leaves ? span.end : span.begin, leaves ? -size : size);
    if (op.peer == kHost) return;
    guests_[static_cast<std::size_t>(op.peer)].push_back(
        {leaves ? span.begin : span.end, leaves ? size : -size});
  }

  const Schedule& s_;
  const Index& x_;
  std::vector<std::vector<MemoryChange>> changes_, guests_;
};

}  // namespace

std::vector<std::vector<MemoryChange>> memory_changes(const Schedule& schedule, const Index& index,
                                                      const std::vector<std::vector<Span>>& spans) {
  Ledger ledger(schedule, index);
  for (std::size_t d = 0; d < schedule.programs.size(); ++d) {
    for (std::size_t i = 0; i < schedule.programs[d].size(); ++i) {
      ledger.add(d, schedule.programs[d][i], spans[d][i]);
    }
  }
  return ledger.take();
}

std::vector<double> peak_activations(const Schedule& schedule, const Index& index,
                                     const std::vector<std::vector<Span>>& spans) {
  std::vector<double> peaks;
  for (const auto& changes : memory_changes(schedule, index, spans)) {
    double held = 0, peak = 0;
    for (const MemoryChange& change : changes) {
      held += change.amount;
      peak = std::max(peak, held);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace weft::pipeline

#include "fabric/coflow/schedulers/keyed.h"

namespace weft {
namespace {

// Promised rates may take this much more than there is, for rounding.
constexpr double kDeadlineRounding = 1 + 1e-9;

// Varys' deadline mode (SIGCOMM 2014): a coflow is let in only if every port can carry it at the
// constant rate that ends it at its deadline, beside what was promised to those let in before.
// What is left over is shared by earliest deadline. Coflows without a deadline are let in and get
// what is left over.
class Edf : public CoflowScheduler {
 public:
  bool admits(const CoflowView& view, const CoflowPlan& plan, const Bundle& bundle) override {
    const Seconds deadline = view.trace->coflows[bundle.coflow].deadline;
    if (deadline == kNever) return true;
    std::vector<double> promised(2 * std::size_t{view.trace->ports});
    const auto add = [&](const Bundle& b, Seconds time) {
      for (std::size_t k = 0; k < b.links.size(); ++k)
        promised[b.links[k]] += b.link_left[k] / time;
    };
    for (const Bundle* other : plan.order) {
      const Seconds end = end_of(view, *other);
      if (end < kNever && end > view.now) add(*other, end - view.now);
    }
    add(bundle, deadline);
    return *std::max_element(promised.begin(), promised.end()) <=
           view.bytes_per_s * kDeadlineRounding;
  }

  void plan(const CoflowView& view, CoflowPlan& plan) override {
    plan.madd = true;
    order_by(plan, [&](const Bundle& b) { return end_of(view, b); });
    for (Bundle* b : plan.order) b->promised = end_of(view, *b);
  }

 private:
  static Seconds end_of(const CoflowView& view, const Bundle& bundle) {
    const Coflow& coflow = view.trace->coflows[bundle.coflow];
    return coflow.arrival + coflow.deadline;
  }
};

}  // namespace

std::unique_ptr<CoflowScheduler> make_edf() { return std::make_unique<Edf>(); }

}  // namespace weft

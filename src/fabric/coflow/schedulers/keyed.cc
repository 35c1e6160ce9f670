#include "fabric/coflow/schedulers/keyed.h"

namespace weft {
namespace {

// A key that stays as it was when the coflow came, MADD and backfill.
template <double (*Key)(const Coflow&, double bytes_per_s)>
class StaticKey : public CoflowScheduler {
 public:
  void plan(const CoflowView& view, CoflowPlan& plan) override {
    plan.madd = true;
    order_by(plan,
             [&](const Bundle& b) { return Key(view.trace->coflows[b.coflow], view.bytes_per_s); });
  }
};

double total_bytes(const Coflow& coflow, double) {
  double sum = 0;
  for (double bytes : coflow.bytes) sum += bytes;
  return sum;
}

double largest_flow(const Coflow& coflow, double) {
  return *std::max_element(coflow.bytes.begin(), coflow.bytes.end());
}

double width(const Coflow& coflow, double) {
  return static_cast<double>(std::min(coflow.sources.size(), coflow.targets.size()));
}

double arrival(const Coflow&, double) { return 0; }

double bottleneck(const Coflow& coflow, double bytes_per_s) {
  return isolated_time(coflow, bytes_per_s);
}

class SebfRemaining : public CoflowScheduler {
 public:
  void plan(const CoflowView& view, CoflowPlan& plan) override {
    plan.madd = true;
    order_by(plan, [&](const Bundle& b) { return b.bottleneck(view.bytes_per_s); });
  }
};

}  // namespace

std::unique_ptr<CoflowScheduler> make_fifo() { return std::make_unique<StaticKey<arrival>>(); }
std::unique_ptr<CoflowScheduler> make_sebf() { return std::make_unique<StaticKey<bottleneck>>(); }
std::unique_ptr<CoflowScheduler> make_scf() { return std::make_unique<StaticKey<largest_flow>>(); }
std::unique_ptr<CoflowScheduler> make_lcf() { return std::make_unique<StaticKey<total_bytes>>(); }
std::unique_ptr<CoflowScheduler> make_ncf() { return std::make_unique<StaticKey<width>>(); }
std::unique_ptr<CoflowScheduler> make_sebf_remaining() { return std::make_unique<SebfRemaining>(); }

}  // namespace weft

#include "fabric/coflow/schedulers/bssi.h"
#include "fabric/coflow/schedulers/keyed.h"
#include "fabric/coflow/schedulers/order_search.h"

namespace weft {
namespace {

// Our own. Whenever a coflow comes or ends, the order with the least sum of completion times of the
// coflows present is searched for, from two starts: BSSI and the smallest bottleneck. Each coflow
// then takes, in order, all that its flows can use, weighted by the bytes they have left: ports
// that are not its bottleneck empty in proportion and are free for others sooner, and the flows of
// a full port end together. It has no constants to tune, and looks only at coflows that are there.
class Weft : public CoflowScheduler {
 public:
  void plan(const CoflowView& view, CoflowPlan& plan) override {
    plan.fill = BundleFill::kProportional;
    bssi_order(plan.order);
    OrderSearch from_bssi(plan.order);
    from_bssi.improve();
    order_by(plan, [&](const Bundle& b) { return b.bottleneck(view.bytes_per_s); });
    OrderSearch from_bottleneck(plan.order);
    from_bottleneck.improve();
    const bool second = from_bottleneck.sum() < from_bssi.sum();
    plan.order = second ? from_bottleneck.order() : from_bssi.order();
  }
};

}  // namespace

std::unique_ptr<CoflowScheduler> make_weft() { return std::make_unique<Weft>(); }

}  // namespace weft

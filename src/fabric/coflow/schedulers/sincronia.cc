#include "fabric/coflow/schedulers/bssi.h"
#include "fabric/coflow/schedulers/keyed.h"

namespace weft {
namespace {

class Sincronia : public CoflowScheduler {
 public:
  void plan(const CoflowView&, CoflowPlan& plan) override { bssi_order(plan.order); }
};

}  // namespace

std::unique_ptr<CoflowScheduler> make_sincronia() { return std::make_unique<Sincronia>(); }

}  // namespace weft

#include <cmath>

#include "fabric/coflow/schedulers/keyed.h"

namespace weft {
namespace {

// Sizes are not known: a coflow sinks from queue to queue as it sends. Strict priority between
// queues, first come first served inside one (Chowdhury and Stoica, "Efficient coflow scheduling
// without prior knowledge", SIGCOMM 2015, discretised CLAS; queue limits as in the paper's
// defaults).
class Aalo : public CoflowScheduler {
 public:
  void plan(const CoflowView&, CoflowPlan& plan) override {
    order_by(plan, [](const Bundle& b) { return queue(b.sent); });
    for (Bundle* b : plan.order) {
      const int at = queue(b->sent);
      b->wake_sent = at + 1 < kQueues ? limit(at) : kNever;
    }
  }

 private:
  static constexpr int kQueues = 10;
  static constexpr double kFirstLimit = 10 * kMiB, kFactor = 10;

  static double limit(int queue) { return kFirstLimit * std::pow(kFactor, queue); }
  static int queue(double sent) {
    int at = 0;
    while (at + 1 < kQueues && sent >= limit(at)) ++at;
    return at;
  }
};

}  // namespace

std::unique_ptr<CoflowScheduler> make_aalo() { return std::make_unique<Aalo>(); }

}  // namespace weft

#include <cmath>
#include <map>

#include "fabric/coflow/schedulers/keyed.h"

namespace weft {
namespace {

// Sizes are not known: a coflow sinks from queue to queue as it sends. Strict priority between
// queues, first come first served inside one (Chowdhury and Stoica, "Efficient coflow scheduling
// without prior knowledge", SIGCOMM 2015, discretised CLAS; queue limits as in the paper's
// defaults). A coflow that sinks comes to its new queue at that moment and stands at its end, as in
// the authors' simulator.
class Aalo : public CoflowScheduler {
 public:
  void plan(const CoflowView&, CoflowPlan& plan) override {
    // Those that sink at the same moment keep the order they had.
    for (Bundle* b : plan.order) {
      const auto [at, fresh] = places_.try_emplace(b->coflow);
      Place& place = at->second;
      const int now = queue(b->sent);
      if (fresh || now > place.queue) place = {now, entries_++};
      b->wake_sent = now + 1 < kQueues ? limit(now) : kNever;
    }
    std::sort(plan.order.begin(), plan.order.end(), [&](const Bundle* a, const Bundle* b) {
      return places_.at(a->coflow) < places_.at(b->coflow);
    });
  }

  void ended(const Bundle& bundle) override { places_.erase(bundle.coflow); }

 private:
  static constexpr int kQueues = 10;
  static constexpr double kFirstLimit = 10 * kMiB, kFactor = 10;

  struct Place {
    int queue = 0;
    std::uint64_t entry = 0;  // counts up
    auto operator<=>(const Place&) const = default;
  };
  std::map<std::uint32_t, Place> places_;  // by coflow
  std::uint64_t entries_ = 0;

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

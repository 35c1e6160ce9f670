#include <cmath>
#include <map>

#include "base/random.h"
#include "fabric/coflow/schedulers/keyed.h"

namespace weft {
namespace {

// Sizes are learned from a sample: some flows of each coflow, its pilots, go ahead of everything;
// when they are through, their mean stands for all flows, and the coflow with the least estimated
// bytes, times the coflows it meets at its ports, goes first (Jajoo, Gandhi, Hu, Koh, "Your coflow
// has many flows: sampling them for fun and speed", USENIX ATC 2019). Coflows not yet estimated
// get what is left.
class Philae : public CoflowScheduler {
 public:
  Bundle take_pilot(const CoflowView&, Bundle& bundle) override {
    const auto flows = static_cast<double>(bundle.flows_left);
    auto wanted = static_cast<std::uint32_t>(std::ceil(kSample * flows));
    Learned& learned = learned_[bundle.coflow];
    learned.flows = flows;
    Bundle pilot = bundle;
    pilot.pilot = true;
    std::fill(pilot.bytes.begin(), pilot.bytes.end(), 0.0);
    Random random(bundle.coflow);
    for (learned.pilots = wanted; wanted > 0;) {
      const auto at = static_cast<std::size_t>(random.below(bundle.bytes.size()));
      if (bundle.bytes[at] <= 0) continue;
      std::swap(pilot.bytes[at], bundle.bytes[at]);
      --wanted;
    }
    recount(pilot);
    recount(bundle);
    return pilot;
  }

  void ended(const Bundle& bundle) override {
    if (!bundle.pilot) return;
    Learned& learned = learned_[bundle.coflow];
    learned.mean = bundle.sent / learned.pilots;
  }

  void plan(const CoflowView&, CoflowPlan& plan) override {
    order_by(plan, [&](const Bundle& b) {
      if (b.pilot) return -1.0;
      const Learned& learned = learned_[b.coflow];
      if (learned.mean <= 0) return kNever;
      const double left = learned.mean * (learned.flows - learned.pilots) - b.sent;
      return std::max(0.0, left) * meets(plan, b);
    });
  }

 private:
  static constexpr double kSample = 0.01;
  struct Learned {
    double flows = 0, pilots = 0, mean = 0;
  };

  // How many coflows, itself among them, have flows on one of its links.
  static double meets(const CoflowPlan& plan, const Bundle& bundle) {
    double count = 0;
    for (const Bundle* other : plan.order) {
      std::size_t k = 0;
      const auto has = [&](std::uint32_t link) {
        for (std::size_t i = 0; i < other->links.size(); ++i) {
          if (other->links[i] == link) return other->link_flows[i] > 0;
        }
        return false;
      };
      while (k < bundle.links.size() && !(bundle.link_flows[k] > 0 && has(bundle.links[k]))) ++k;
      count += k < bundle.links.size();
    }
    return count;
  }

  std::map<std::uint32_t, Learned> learned_;
};

}  // namespace

std::unique_ptr<CoflowScheduler> make_philae() { return std::make_unique<Philae>(); }

}  // namespace weft
